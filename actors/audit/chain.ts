// Hash chain over the lines of the audit. The last member of each line is `chain`: the number of the line and
// a SHA-256 hash over the previous hash, the number, and the rest of the line. An edit, a removal or a move
// therefore breaks the chain at its place. There is no key: a complete rewrite by a writer of the files is
// not detectable.

import { hash } from 'node:crypto';

/** Number and hash of a line. */
export interface ChainLink {
  readonly n: number;
  readonly hash: string;
}

/** A complete line, split for the verification. */
export interface ChainedLine {
  /** Bytes before the member `chain`. */
  readonly body: Buffer;
  readonly link: ChainLink;
}

/** Predecessor of the first line. */
export const GENESIS: ChainLink = { n: 0, hash: '0'.repeat(64) };

/** Size that a line gains by its link and the line break, at most. */
export const LINK_BYTES = 96;

const TAIL = /,"chain":"([1-9]\d{0,14}):([0-9a-f]{64})"\}$/;

/** Returns the link of a line, given without its last member and the closing brace. */
export function nextLink(body: Uint8Array, previous: ChainLink): ChainLink {
  const n = previous.n + 1;
  return { n, hash: digestOf(body, previous, n) };
}

/** Returns the end of a line with this link. */
export function tailOf(link: ChainLink): string {
  return `,"chain":"${linkText(link)}"}\n`;
}

/** Splits a line without its line break. Returns undefined for other text. */
export function splitLine(line: Buffer): ChainedLine | undefined {
  const tail = line.subarray(-LINK_BYTES).toString('latin1');
  const [member, n, digest] = TAIL.exec(tail) ?? [];
  if (member === undefined || digest === undefined) return undefined;
  return { body: line.subarray(0, line.length - member.length), link: { n: Number(n), hash: digest } };
}

/** Returns true if the line follows `previous` unchanged. */
export function follows({ body, link }: ChainedLine, previous: ChainLink): boolean {
  return link.n === previous.n + 1 && digestOf(body, previous, link.n) === link.hash;
}

export function linkText({ n, hash: digest }: ChainLink): string {
  return `${n}:${digest}`;
}

/** Parses the text of a link. Returns undefined for other values. */
export function parseLink(text: unknown): ChainLink | undefined {
  const [, n, digest] = /^(0|[1-9]\d{0,14}):([0-9a-f]{64})$/.exec(String(text)) ?? [];
  return digest === undefined ? undefined : { n: Number(n), hash: digest };
}

/** Hashed bytes of the current line; one hash call is several times faster than a hash object. */
let scratch = Buffer.alloc(8_192);

function digestOf(body: Uint8Array, previous: ChainLink, n: number): string {
  if (body.length + LINK_BYTES > scratch.length) scratch = Buffer.alloc(2 * (body.length + LINK_BYTES));
  const start = scratch.write(`${previous.hash} ${n} `, 'latin1');
  scratch.set(body, start);
  return hash('sha256', scratch.subarray(0, start + body.length));
}
