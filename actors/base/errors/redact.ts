// Redacts credentials in text (A9). Gateway messages are redacted with every configured credential, server errors only
// with the server's credentials: redaction must not confirm a client's guess about other servers.
// Credentials match in plain, JSON and URL spelling. config/credentials selects them. Overlapping matches are merged, so no
// part of the second match remains visible.

import { MIN_CREDENTIAL_LENGTH } from '../../../config/credentials/plain-values.ts';

export const REDACTION_MARK = '[redacted]';

interface Hit {
  readonly start: number;
  end: number;
}

export class Redactor {
  readonly #needles = new Set<string>();
  #longest = 0;

  constructor(secrets: readonly string[]) {
    this.add(...secrets);
  }

  /** Length of the longest text looked for, in characters; 0 when there is nothing to hide. */
  get longest(): number {
    return this.#longest;
  }

  /** Adds credentials. Values below the minimum length are ignored: they match inside ordinary text. */
  add(...secrets: readonly string[]): void {
    for (const secret of secrets)
      for (const needle of spellings(secret)) {
        if (needle.length < MIN_CREDENTIAL_LENGTH) continue;
        this.#needles.add(needle);
        this.#longest = Math.max(this.#longest, needle.length);
      }
  }

  redact(text: string): string {
    const hits = this.find(text);
    return hits.length === 0 ? text : struck(text, hits, text.length);
  }

  /**
   * The beginning of a text, redacted, about `maxChars` long. A secret at the cut is never shown in part; this
   * holds also for a text that was cut before, if the caller says so by `isCut`.
   */
  excerpt(text: string, maxChars: number, isCut = false): string {
    const margin = Math.max(0, this.#longest - 1);
    const end = Math.min(maxChars, isCut ? Math.max(0, text.length - margin) : text.length);
    if (end === text.length) return this.redact(text);
    return `${struck(text, this.find(text.slice(0, end + margin)), end)}…`;
  }

  /** Returns the matches in a text, in order and merged. */
  find(text: string): readonly Readonly<Hit>[] {
    const found: Hit[] = [];
    for (const needle of this.#needles)
      for (let at = text.indexOf(needle); at !== -1; at = text.indexOf(needle, at + 1))
        found.push({ start: at, end: at + needle.length });
    if (found.length < 2) return found;
    found.sort((a, b) => a.start - b.start);
    const merged: Hit[] = [];
    for (const hit of found) {
      const last = merged.at(-1);
      if (last !== undefined && hit.start <= last.end) last.end = Math.max(last.end, hit.end);
      else merged.push(hit);
    }
    return merged;
  }
}

/** The text up to `end` with every hit that begins before it struck. */
function struck(text: string, hits: readonly Readonly<Hit>[], end: number): string {
  let shown = '';
  let from = 0;
  for (const hit of hits) {
    if (hit.start >= end) break;
    shown += text.slice(from, hit.start) + REDACTION_MARK;
    from = hit.end;
  }
  return (shown + text.slice(from, Math.max(from, end))).replace(/[\uD800-\uDBFF]$/, '');
}

function spellings(secret: string): Set<string> {
  const all = new Set<string>();
  for (const text of [secret, secret.replace(/[^\P{Cc}\t]/gu, '')]) {
    const json = JSON.stringify(text).slice(1, -1);
    // Python's json module writes ASCII only, PHP's escapes the slash.
    const ascii = json.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
    for (const each of [text, json, ascii, ascii.replaceAll('/', '\\/'), ...urlSpellings(text)])
      all.add(each);
  }
  return all;
}

function urlSpellings(text: string): string[] {
  let encoded: string;
  try {
    encoded = encodeURIComponent(text);
  } catch {
    return []; // half a surrogate pair: no URL can hold it
  }
  const form = new URLSearchParams([['', text]]).toString().slice(1);
  const strict = encoded.replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
  const upper = [encoded, encodeURI(text), form, strict];
  return [...upper, ...upper.map((each) => each.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()))];
}

/** A URL as it may stand in a log: without query, fragment, user name and password. */
export function urlWithoutQuery(url: string): string {
  if (URL.canParse(url)) {
    const { protocol, host, pathname } = new URL(url);
    return `${protocol}//${host}${pathname}`;
  }
  // A request target such as /mcp?key=…, or something that only resembles a URL.
  return url.replace(/[?#].*$/s, '').replace(/\/\/[^/]*@/, '//');
}
