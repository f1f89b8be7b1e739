// Runs before the first paint, so that a chosen theme doesn't flash: the rest of the program is a deferred module.
const theme = localStorage.getItem("theme");
if (theme === "light" || theme === "dark") document.documentElement.dataset["theme"] = theme;
