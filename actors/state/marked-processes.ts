// Which running processes carry a mark (owner-mark.ts), read from /proc/<pid>/environ. Only what this user may look into is
// found; a program that has cleaned its environment is not (proc_pid_environ(5)).
//
// MP1  one look at a time: whoever asks meanwhile shares the next one, so that a thousand servers that end at once cost two.
// MP2  nothing is read on the main thread, as the kernel may hold up a reader. A look ends when nothing more is answered: what
//      hangs then is left out, and not read again before it answers. That this process gets no time is no silence: with one
//      that floods beside it, or on a loaded machine, a look takes long, and all is found.
// MP3  a mark is told of the very process, pid and start time, that carried it.

import { type FileHandle, open, readdir } from 'node:fs/promises';
import { MARK_VARIABLE, type OwnerMark, parseMarks } from './owner-mark.ts';
import { type ProcessIdentity, startTimeIn } from './process-identity.ts';
import { isZombie, statOf } from './process-stat.ts';

const TICK_MS = 1_000;
/** Ticks without an answer: one alone may be the first after a stall of this process. */
const SILENT_TICKS = 2;
/** Whoever ends a server waits for the look. */
const MAX_TICKS = 20;
const READERS = 8;
const PIECE_BYTES = 64 * 1024;
/** Linux takes no larger environment (execve(2): three quarters of the stack's limit, 6 MB at most). */
const MAX_BYTES = 6 * 1024 * 1024;

const assignment = Buffer.from(`\0${MARK_VARIABLE}=`);

export interface MarkedProcess extends ProcessIdentity {
  readonly group: number;
  /** The nearest first. */
  readonly marks: readonly OwnerMark[];
}

/** What one look has found. */
export class Marked {
  readonly processes: readonly MarkedProcess[];
  readonly #byToken = new Map<string, MarkedProcess[]>();

  constructor(processes: readonly MarkedProcess[]) {
    this.processes = processes;
    for (const process of processes)
      for (const { token } of process.marks) {
        const same = this.#byToken.get(token);
        if (same === undefined) this.#byToken.set(token, [process]);
        else same.push(process);
      }
  }

  /** Processes of the one child: itself, what it has started, and what those have. */
  ofChild(token: string): readonly MarkedProcess[] {
    return this.#byToken.get(token) ?? [];
  }
}

let current: Promise<Marked> | undefined;
let next: Promise<Marked> | undefined;
const unreadable = new Set<string>();

/** A look that begins after this call. Never rejects; empty where there is no /proc. */
export function markedProcesses(): Promise<Marked> {
  if (current === undefined) {
    current = look().finally(() => {
      current = undefined;
    });
    return current;
  }
  next ??= current.then(() => {
    next = undefined;
    return markedProcesses();
  });
  return next;
}

async function look(): Promise<Marked> {
  let names: string[];
  try {
    names = await readdir('/proc');
  } catch {
    return new Marked([]);
  }
  const own = String(process.pid);
  const pids = names.filter((name) => /^\d+$/.test(name) && name !== own && !unreadable.has(name));
  const found: MarkedProcess[] = [];
  let answers = 0;
  const onAnswer = () => {
    answers += 1;
  };
  const silence = new SilenceDetector(() => answers);
  let hasTime = true;
  const reader = async (): Promise<void> => {
    const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
    for (let pid = pids.pop(); pid !== undefined && hasTime; pid = pids.pop()) {
      unreadable.add(pid);
      const process = await readMarks(pid, piece, onAnswer);
      unreadable.delete(pid);
      if (process !== undefined && hasTime) found.push(process);
    }
  };
  await Promise.race([Promise.all(Array.from({ length: READERS }, reader)), silence.begun]);
  hasTime = false;
  silence.close();
  return new Marked(found);
}

/** Tells when no answers come any more, or it has taken too long. */
class SilenceDetector {
  readonly begun: Promise<void>;
  #timer: NodeJS.Timeout | undefined;

  constructor(answers: () => number) {
    let before = answers();
    let ticks = 0;
    let silent = 0;
    this.begun = new Promise((resolve) => {
      this.#timer = setInterval(() => {
        ticks += 1;
        silent = answers() === before ? silent + 1 : 0;
        before = answers();
        if (silent === SILENT_TICKS || ticks === MAX_TICKS) resolve();
      }, TICK_MS);
    });
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

async function readMarks(
  pid: string,
  piece: Buffer,
  onAnswer: () => void,
): Promise<MarkedProcess | undefined> {
  let file: FileHandle | undefined;
  try {
    file = await open(`/proc/${pid}/environ`, 'r');
    onAnswer();
    const environment = await readAll(file, piece);
    onAnswer();
    const marks = parseMarks(valueIn(environment) ?? '');
    if (marks.length === 0) return undefined;
    const stat = statOf(Number(pid));
    if (stat === undefined || isZombie(stat)) return undefined;
    // The file is of the process it was opened for: as long as there is something to read in it that one lives, and the
    // pid is still its own.
    const { bytesRead } = await file.read(piece, 0, 1, 0);
    if (bytesRead === 0) return undefined;
    return { pid: Number(pid), startTime: startTimeIn(stat), group: stat.group, marks };
  } catch {
    // Gone, or another user's.
    return undefined;
  } finally {
    await file?.close().catch(() => {});
    onAnswer();
  }
}

async function readAll(file: FileHandle, piece: Buffer): Promise<Buffer> {
  const { bytesRead } = await file.read(piece, 0, piece.length, 0);
  if (bytesRead < piece.length) return piece.subarray(0, bytesRead);
  const pieces = [Buffer.from(piece)];
  for (let at = bytesRead; at < MAX_BYTES; ) {
    const { bytesRead: more } = await file.read(piece, 0, piece.length, at);
    if (more === 0) break;
    pieces.push(Buffer.from(piece.subarray(0, more)));
    at += more;
  }
  return Buffer.concat(pieces);
}

/** The value of the variable in an environment, as the kernel shows it. */
function valueIn(environment: Buffer): string | undefined {
  const isFirst = environment.subarray(0, assignment.length - 1).equals(assignment.subarray(1));
  const before = isFirst ? -1 : environment.indexOf(assignment);
  if (before === -1 && !isFirst) return undefined;
  const start = before + assignment.length;
  const end = environment.indexOf(0, start);
  return environment.toString('latin1', start, end === -1 ? environment.length : end);
}
