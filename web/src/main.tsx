// Starts the page: language, who is signed in, then the frame.
import { render } from "preact";
import { App } from "./app";
import { firstLanguage, setLanguage, t } from "./i18n";
import { startRouter } from "./router";
import { loadSite } from "./session";
import { ErrorBox } from "./ui/parts";

const root = document.getElementById("app") as HTMLElement;

async function start() {
	await setLanguage(firstLanguage());
	try {
		await loadSite();
	} catch (error) {
		render(<main class="page narrow"><h1>judge</h1><ErrorBox error={error} retry={() => location.reload()} /><p>{t("offline_more")}</p></main>, root);
		return;
	}
	startRouter();
	render(<App />, root);
}

void start();
