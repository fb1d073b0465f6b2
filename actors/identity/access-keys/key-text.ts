// Text of an access key: `agk_`, 10 characters of id, `_`, 43 characters of secret (32 random bytes) and 6 of
// checksum (CRC32). People and secret scanners recognise it by its form. The checksum detects typing errors,
// which then cost no look-up. Only the digest is stored. The secret is random, so a fast digest is
// sufficient; the id in the input replaces a salt.

import { hash, randomBytes, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const PREFIX = 'agk_';
const ID_CHARACTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';
const ID_LENGTH = 10;
const SECRET_BYTES = 32;
const FORM = /^agk_[a-z0-9]{10}_[\w-]{49}$/;
const ID_START = PREFIX.length;
const ID_END = ID_START + ID_LENGTH;
/** Start of the checksum. */
const SECRET_END = ID_END + 1 + 43;

export interface NewKeyText {
  readonly id: string;
  readonly text: string;
  readonly digest: string;
}

export function newKeyText(): NewKeyText {
  const id = Array.from({ length: ID_LENGTH }, () => ID_CHARACTERS[randomInt(ID_CHARACTERS.length)]).join('');
  const start = `${PREFIX}${id}_${randomBytes(SECRET_BYTES).toString('base64url')}`;
  const text = start + checksumOf(start);
  return { id, text, digest: digestOf(text) };
}

/** Returns true if the text has the form of an access key. Its checksum may be wrong. */
export function isKeyText(text: string): boolean {
  return text.startsWith(PREFIX) && FORM.test(text);
}

export function isKeyId(id: string): boolean {
  return /^[a-z0-9]{10}$/.test(id);
}

/** Returns true if the checksum of a text with the form of a key is correct. */
export function hasChecksum(text: string): boolean {
  return text.slice(SECRET_END) === checksumOf(text.slice(0, SECRET_END));
}

/** Returns the checksum in a text with the form of a key. */
export function checksumIn(text: string): string {
  return text.slice(SECRET_END);
}

export function keyIdIn(text: string): string {
  return text.slice(ID_START, ID_END);
}

/** Returns the digest of id and secret, in base64url: a Buffer costs three times as much. */
export function digestOf(text: string): string {
  return hash('sha256', text.slice(ID_START, ID_END) + text.slice(ID_END + 1, SECRET_END), 'base64url');
}

function checksumOf(start: string): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(start));
  return bytes.toString('base64url');
}
