// Who is signed in, and what this site offers.
import { api, onSignedOut } from "./api";
import { t } from "./i18n";
import { store, useStore } from "./store";
import type { Device, Role, Site, User } from "./types";

export const site = store<Site | null>(null);
export const useSite = () => useStore(site) as Site;
export const useUser = () => useStore(site)?.user ?? null;

const order: Role[] = ["student", "assistant", "instructor", "admin"];
export const atLeast = (user: User | null, role: Role) => user !== null && order.indexOf(user.role) >= order.indexOf(role);

export function setUser(user: User | null): void {
	const s = site.get();
	if (s) site.set({ ...s, user });
}

export async function loadSite(): Promise<void> {
	site.set(await api.site());
}

onSignedOut(() => { if (site.get()?.user) setUser(null); });

/** A modelled device never looks like a real one. */
export const deviceName = (d: Device) => (d.kind === "emulated" ? `${d.name} (${t("kind_emulated")})` : d.name);
