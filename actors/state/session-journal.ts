// Records of client sessions in the state folder, as a journal: each change appends a line, and the file is
// rewritten when most of its lines are outdated. A written line survives the end of the process, also by
// `kill -9`. Changes during a write share the next one. No method rejects: without disk space the sessions
// work until the process ends, and the next successful write stores all of them.

import { appendFile, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const FILE = 'sessions.ndjson';
/** Number of outdated lines above which the file is rewritten, provided that they outnumber the records. */
const MIN_OUTDATED = 1_000;
const OWNER_ONLY = 0o600;

/** A key with the record, or with `-` if the record was removed. */
const linePattern = /^([\w-]{1,64}) (-|\{.*\})$/;

export class SessionJournal {
  readonly #path: string;
  readonly #onWarning: (message: string) => void;
  readonly #records = new Map<string, string>();
  /** Unwritten lines by key. */
  #pending = new Map<string, string>();
  #lastWrite: Promise<void> = Promise.resolve();
  /** Write that will contain the pending lines. */
  #nextWrite: Promise<void> | undefined;
  #lineCount = 0;
  /** True if the end of the file may be incomplete. */
  #isTorn = false;
  #isFailing = false;

  /** Reads the records of earlier processes. */
  static async open(stateDir: string, onWarning: (message: string) => void): Promise<SessionJournal> {
    const journal = new SessionJournal(join(stateDir, FILE), onWarning);
    await journal.#read();
    return journal;
  }

  private constructor(path: string, onWarning: (message: string) => void) {
    this.#path = path;
    this.#onWarning = onWarning;
  }

  /** Keys and records, in the order of their last change. */
  entries(): Iterable<readonly [key: string, text: string]> {
    return this.#records;
  }

  find(key: string): string | undefined {
    return this.#records.get(key);
  }

  /** Stores a record, in one line. Resolves when it is written. */
  put(key: string, text: string): Promise<void> {
    this.#records.delete(key);
    this.#records.set(key, text);
    return this.#append(key, text);
  }

  /** Removes a record. Resolves when that is written. */
  delete(key: string): Promise<void> {
    return this.#records.delete(key) ? this.#append(key, '-') : this.close();
  }

  /** Resolves when all changes are written. */
  close(): Promise<void> {
    return this.#nextWrite ?? this.#lastWrite;
  }

  async #read(): Promise<void> {
    try {
      const lines = (await readFile(this.#path, 'utf8')).split('\n');
      // A write that a kill interrupted leaves a line without an end.
      this.#isTorn = lines.pop() !== '';
      this.#lineCount = lines.length;
      for (const line of lines) {
        const [, key = '', text = ''] = linePattern.exec(line) ?? [];
        this.#records.delete(key);
        if (text !== '' && text !== '-') this.#records.set(key, text);
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.#warn('could not read', error);
    }
  }

  #append(key: string, value: string): Promise<void> {
    this.#pending.set(key, `${key} ${value}\n`);
    if (this.#nextWrite === undefined) {
      this.#nextWrite = this.#lastWrite.then(() => this.#write());
      this.#lastWrite = this.#nextWrite;
    }
    return this.#nextWrite;
  }

  async #write(): Promise<void> {
    const lines = [...this.#pending.values()];
    this.#pending = new Map();
    this.#nextWrite = undefined;
    const outdatedCount = this.#lineCount - this.#records.size;
    const isMostlyOutdated = outdatedCount > MIN_OUTDATED && outdatedCount > this.#records.size;
    try {
      if (this.#isTorn || isMostlyOutdated) await this.#rewrite();
      else {
        await appendFile(this.#path, lines.join(''), { mode: OWNER_ONLY });
        this.#lineCount += lines.length;
      }
      this.#isFailing = false;
    } catch (error) {
      this.#isTorn = true;
      if (!this.#isFailing) this.#warn('sessions end with this process, could not write', error);
      this.#isFailing = true;
    }
  }

  async #rewrite(): Promise<void> {
    const lines = [...this.#records].map(([key, text]) => `${key} ${text}\n`);
    const unfinished = `${this.#path}.new`;
    try {
      await writeFile(unfinished, lines.join(''), { mode: OWNER_ONLY, flush: true });
      await rename(unfinished, this.#path);
    } catch (error) {
      // A part of the file would keep a full disk full.
      await rm(unfinished, { force: true });
      throw error;
    }
    this.#lineCount = lines.length;
    this.#isTorn = false;
  }

  #warn(failure: string, error: unknown): void {
    this.#onWarning(`${failure} ${this.#path}: ${(error as Error).message}`);
  }
}
