// Checks whether the write-ahead log is intact. SQLite reads it up to the first damaged frame, and silently
// treats the rest as an older log. This check distinguishes the two: frames of an older log have its salt,
// which is lower; other frames were overwritten and are lost. It runs before the file is opened, because
// opening empties the log. A log that was truncated between transactions looks intact. The check only reads,
// and reports nothing for a file that is unreadable or not a log; SQLite then decides.

import { readFileSync } from 'node:fs';

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const PAGE_BYTES = 4096;
/** The last bit selects the byte order of the checksum. */
const MAGIC = 0x377f0682;
/** The first salt counts the logs of the file. A larger difference does not come from an older log. */
const MAX_LOGS = 2 ** 24;

export interface LogDamage {
  /** Number of intact frames before the first damaged one. Frames are pages. */
  readonly whole: number;
  /** Number of lost frames after the first damaged one. */
  readonly lost: number;
  readonly lostCommits: number;
}

/** Returns the damage of the database's log; undefined if it is intact or missing. */
export function logDamage(file: string): LogDamage | undefined {
  let log: Buffer;
  try {
    log = readFileSync(`${file}-wal`);
  } catch {
    return undefined;
  }
  if (log.length < HEADER_BYTES + FRAME_HEADER_BYTES) return undefined;
  const magic = log.readUInt32BE(0);
  const sum = new Checksum((magic & 1) === 1);
  sum.add(log, 0, 24);
  let whole = 0;
  let isIntact = (magic & ~1) === MAGIC && sum.isAt(log, 24);
  // If the head is damaged, the first frame provides the salts.
  const frameBytes = FRAME_HEADER_BYTES + (isIntact ? log.readUInt32BE(8) : PAGE_BYTES);
  const salts = isIntact ? log.subarray(16, 24) : log.subarray(HEADER_BYTES + 8, HEADER_BYTES + 16);
  const isBlank = salts.every((byte) => byte === 0);
  // `lost`: frames of this log after the damage. `foreign`: frames of neither this log nor an older one.
  let lost = 0;
  let lostCommits = 0;
  let foreign = 0;
  for (let at = HEADER_BYTES; at + frameBytes <= log.length; at += frameBytes) {
    const isOfThisLog = !isBlank && salts.equals(log.subarray(at + 8, at + 16));
    if (isIntact) {
      sum.add(log, at, 8);
      sum.add(log, at + FRAME_HEADER_BYTES, frameBytes - FRAME_HEADER_BYTES);
      isIntact = isOfThisLog && sum.isAt(log, at + 16);
    }
    if (isIntact) whole += 1;
    else if (isOfThisLog) {
      lost += 1;
      if (log.readUInt32BE(at + 4) !== 0) lostCommits += 1;
    } else if (isBlank || !isOlder(log.readUInt32BE(at + 8), salts.readUInt32BE(0))) foreign += 1;
  }
  // No later frames: the damaged frame was being written when the process crashed, and nothing is lost.
  return lostCommits + foreign === 0 ? undefined : { whole, lost: lost + foreign, lostCommits };
}

function isOlder(salt: number, own: number): boolean {
  const age = (own - salt) >>> 0;
  return age > 0 && age < MAX_LOGS;
}

/** Checksum of the log format, over the header and all frames so far. */
class Checksum {
  readonly #isBigEndian: boolean;
  #one = 0;
  #two = 0;

  constructor(isBigEndian: boolean) {
    this.#isBigEndian = isBigEndian;
  }

  add(log: Buffer, from: number, bytes: number): void {
    let one = this.#one;
    let two = this.#two;
    for (let at = from; at < from + bytes; at += 8) {
      one = (one + this.#word(log, at) + two) >>> 0;
      two = (two + this.#word(log, at + 4) + one) >>> 0;
    }
    this.#one = one;
    this.#two = two;
  }

  isAt(log: Buffer, at: number): boolean {
    return log.readUInt32BE(at) === this.#one && log.readUInt32BE(at + 4) === this.#two;
  }

  #word(log: Buffer, at: number): number {
    return this.#isBigEndian ? log.readUInt32BE(at) : log.readUInt32LE(at);
  }
}
