// What the tests are written with.
import assert from "node:assert/strict";

export { assert };
// A server with sanitizers takes ten times as long.
export const slower = process.env.SAN ? 10 : 1;
export const tests = [];
export const test = (name, body) => tests.push({ name, body });

// A value against a schema of openapi.json; returns the places where it does not fit.
export function misfits(doc, schema, value, at = "body") {
	if (schema.$ref) {
		const target = schema.$ref.slice(2).split("/").reduce((o, k) => o[k], doc);
		return misfits(doc, target, value, at);
	}
	if (schema.anyOf) {
		const all = schema.anyOf.map((s) => misfits(doc, s, value, at));
		return all.some((m) => !m.length) ? [] : all[0];
	}
	const type = value === null ? "null" : Array.isArray(value) ? "array" : Number.isInteger(value) ? "integer" : typeof value;
	const allowed = [].concat(schema.type ?? type);
	if (!allowed.includes(type) && !(type === "integer" && allowed.includes("number"))) return [`${at}: is ${type}, not ${allowed}`];
	const out = [];
	if (schema.enum && !schema.enum.includes(value)) out.push(`${at}: ${value} is none of ${schema.enum}`);
	if (schema.format === "date-time" && value !== null && Number.isNaN(Date.parse(value))) out.push(`${at}: ${value} is no time`);
	if (type === "array" && schema.items) value.forEach((v, i) => out.push(...misfits(doc, schema.items, v, `${at}[${i}]`)));
	if (type === "object") {
		for (const key of schema.required ?? []) if (!(key in value)) out.push(`${at}.${key}: is missing`);
		for (const [key, v] of Object.entries(value)) {
			const s = schema.properties?.[key];
			if (s) out.push(...misfits(doc, s, v, `${at}.${key}`));
			else if (schema.additionalProperties === false) out.push(`${at}.${key}: is not described`);
			else if (typeof schema.additionalProperties === "object") out.push(...misfits(doc, schema.additionalProperties, v, `${at}.${key}`));
		}
	}
	return out;
}
