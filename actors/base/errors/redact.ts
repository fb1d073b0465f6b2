// Redacts credentials in text (A9, ARCHITECTURE.md). Messages of the gateway are redacted with all configured
// credentials. Server errors are redacted only with the credentials of that server; otherwise a client could
// find out the credentials of other servers by guessing. config/credentials collects the credentials. The
// redactor finds them also in JSON and URL encoding. It merges overlapping matches, because otherwise a part
// of a match would remain visible. Access keys are not configured: the redactor finds them by their form, and
// also the start of a key (identity/access-keys/key-text.ts).

import { MIN_CREDENTIAL_LENGTH } from '../../../config/credentials/plain-values.ts';

export const REDACTION_MARK = '[redacted]';

/** Up to this number, searching for one pattern after another is the fastest. */
const FEW_PATTERNS = 256;

const ACCESS_KEY = /agk_[a-z0-9]{10}_[\w-]+/g;

interface Hit {
  readonly start: number;
  end: number;
}

export class Redactor {
  readonly #needles = new Set<string>();
  /** Patterns by their last characters; tokens often have common first characters. */
  readonly #bySuffix = new Map<string, string[]>();
  #longest = 0;

  constructor(secrets: readonly string[]) {
    this.add(...secrets);
  }

  /** Length of the longest pattern, in characters; 0 without credentials. */
  get longest(): number {
    return this.#longest;
  }

  /** Number of patterns. It grows when credentials are added; text that was redacted before may be stale. */
  get patternCount(): number {
    return this.#needles.size;
  }

  /**
   * Adds credentials. Values below the minimum length are ignored, because they match inside ordinary text.
   */
  add(...secrets: readonly string[]): void {
    for (const secret of secrets)
      for (const needle of encodings(secret)) {
        if (needle.length < MIN_CREDENTIAL_LENGTH || this.#needles.has(needle)) continue;
        this.#needles.add(needle);
        const suffix = needle.slice(-MIN_CREDENTIAL_LENGTH);
        const others = this.#bySuffix.get(suffix);
        if (others === undefined) this.#bySuffix.set(suffix, [needle]);
        else others.push(needle);
        this.#longest = Math.max(this.#longest, needle.length);
      }
  }

  redact(text: string): string {
    const hits = this.find(text);
    return hits.length === 0 ? text : replaceHits(text, hits, text.length);
  }

  /**
   * Returns the redacted start of a text, about `maxChars` long. Never shows part of a secret at the end. Set
   * `isCut` if the text is already truncated.
   */
  excerpt(text: string, maxChars: number, isCut = false): string {
    const margin = Math.max(0, this.#longest - 1);
    const end = Math.min(maxChars, isCut ? Math.max(0, text.length - margin) : text.length);
    if (end === text.length) return this.redact(text);
    return `${replaceHits(text, this.find(text.slice(0, end + margin)), end)}…`;
  }

  /** Returns the matches in a text, in order and merged. */
  find(text: string): readonly Readonly<Hit>[] {
    const hits = this.#needles.size <= FEW_PATTERNS ? this.#findEach(text) : this.#findBySuffix(text);
    if (text.includes('agk_'))
      for (const { 0: key, index } of text.matchAll(ACCESS_KEY))
        hits.push({ start: index, end: index + key.length });
    if (hits.length < 2) return hits;
    hits.sort((a, b) => a.start - b.start);
    const merged: Hit[] = [];
    for (const hit of hits) {
      const last = merged.at(-1);
      if (last !== undefined && hit.start <= last.end) last.end = Math.max(last.end, hit.end);
      else merged.push(hit);
    }
    return merged;
  }

  #findEach(text: string): Hit[] {
    const hits: Hit[] = [];
    for (const needle of this.#needles)
      for (let at = text.indexOf(needle); at !== -1; at = text.indexOf(needle, at + 1))
        hits.push({ start: at, end: at + needle.length });
    return hits;
  }

  /** Reads the text once: its cost does not depend on the number of patterns. */
  #findBySuffix(text: string): Hit[] {
    const hits: Hit[] = [];
    for (let end = MIN_CREDENTIAL_LENGTH; end <= text.length; end += 1)
      for (const needle of this.#bySuffix.get(text.slice(end - MIN_CREDENTIAL_LENGTH, end)) ?? [])
        if (text.endsWith(needle, end)) hits.push({ start: end - needle.length, end });
    return hits;
  }
}

/** Returns the text up to `end`, with each match that starts before `end` redacted. */
function replaceHits(text: string, hits: readonly Readonly<Hit>[], end: number): string {
  let output = '';
  let from = 0;
  for (const hit of hits) {
    if (hit.start >= end) break;
    output += text.slice(from, hit.start) + REDACTION_MARK;
    from = hit.end;
  }
  return (output + text.slice(from, Math.max(from, end))).replace(/[\uD800-\uDBFF]$/, '');
}

/** Returns the forms in which a credential may appear in a text. */
function encodings(secret: string): Iterable<string> {
  if (/^[\w.-]*$/.test(secret)) return [secret];
  const all = new Set<string>();
  // display-line.ts removes control characters except tabs from a line, also within a credential.
  for (const text of [secret, secret.replace(/(?!\t)\p{Cc}/gu, '')]) {
    const json = JSON.stringify(text).slice(1, -1);
    // Python's json module escapes non-ASCII characters, PHP escapes slashes.
    const ascii = json.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
    for (const each of [text, json, ascii, ascii.replaceAll('/', '\\/'), ...urlEncodings(text)])
      all.add(each);
  }
  return all;
}

function urlEncodings(text: string): string[] {
  let encoded: string;
  try {
    encoded = encodeURIComponent(text);
  } catch {
    return []; // lone surrogate: not encodable in a URL
  }
  const form = new URLSearchParams([['', text]]).toString().slice(1);
  const strict = encoded.replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
  const upper = [encoded, encodeURI(text), form, strict];
  return [...upper, ...upper.map((each) => each.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()))];
}

/** Returns a URL for logs, without query, fragment, user name and password. */
export function urlWithoutQuery(url: string): string {
  if (URL.canParse(url)) {
    const { protocol, host, pathname } = new URL(url);
    return `${protocol}//${host}${pathname}`;
  }
  // A request target such as /mcp?key=…, or an invalid URL.
  return url.replace(/[?#].*$/s, '').replace(/\/\/[^/]*@/, '//');
}
