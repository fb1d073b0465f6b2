// Finds running processes with a mark (owner-mark.ts) in their environment, by scanning /proc/<pid>/environ.
// It does not find processes of other users, and programs that clear their environment (proc_pid_environ(5)).
//
// Scans do not overlap. All callers during a scan share the next one, so a thousand servers that stop
// together cost two scans. Files are read asynchronously, because the kernel may block a reader. A scan stops
// when reads no longer complete, and later scans skip processes with a blocked read. Results identify
// processes by pid and start time.

import { type FileHandle, open, readdir } from 'node:fs/promises';
import { MARK_VARIABLE, type OwnerMark, parseMarks } from './owner-mark.ts';
import { type ProcessIdentity, startTimeIn } from './process-identity.ts';
import { isZombie, statOf } from './process-stat.ts';

const TICK_MS = 1_000;
/**
 * Ticks without a completed read after which the scan stops. A single such tick can be due to a stall of this
 * process.
 */
const SILENT_TICKS = 2;
/** Maximum scan duration. Stopping a server includes a scan. */
const MAX_TICKS = 20;
const READERS = 8;
const PIECE_BYTES = 64 * 1024;
/** Maximum environment size of Linux (execve(2): three quarters of the stack limit, 6 MB at most). */
const MAX_BYTES = 6 * 1024 * 1024;

const assignment = Buffer.from(`\0${MARK_VARIABLE}=`);

export interface MarkedProcess extends ProcessIdentity {
  readonly group: number;
  /** One mark per owner, innermost first: a gateway can itself be a marked child of another gateway. */
  readonly marks: readonly OwnerMark[];
}

/** Scan result. */
export class MarkedProcesses {
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

  /** Returns the child's processes: the child and all descendants. */
  ofChild(token: string): readonly MarkedProcess[] {
    return this.#byToken.get(token) ?? [];
  }
}

/** Running scan, and the scan that follows it. */
let currentScan: Promise<MarkedProcesses> | undefined;
let nextScan: Promise<MarkedProcesses> | undefined;
/** Ids of processes whose environment is being read. A blocked read keeps its id, so later scans skip it. */
const pidsInRead = new Set<string>();

/** Returns the result of a scan that starts later than this call. Never rejects; empty without /proc. */
export function scanMarkedProcesses(): Promise<MarkedProcesses> {
  if (currentScan === undefined) {
    currentScan = scan().finally(() => {
      currentScan = undefined;
    });
    return currentScan;
  }
  nextScan ??= currentScan.then(() => {
    nextScan = undefined;
    return scanMarkedProcesses();
  });
  return nextScan;
}

async function scan(): Promise<MarkedProcesses> {
  let names: string[];
  try {
    names = await readdir('/proc');
  } catch {
    return new MarkedProcesses([]);
  }
  const own = String(process.pid);
  const pids = names.filter((name) => /^\d+$/.test(name) && name !== own && !pidsInRead.has(name));
  const results: MarkedProcess[] = [];
  let readCount = 0;
  const onRead = () => {
    readCount += 1;
  };
  const silence = new SilenceDetector(() => readCount);
  let isScanning = true;
  const reader = async (): Promise<void> => {
    const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
    for (let pid = pids.pop(); pid !== undefined && isScanning; pid = pids.pop()) {
      pidsInRead.add(pid);
      const process = await readMarks(pid, piece, onRead);
      pidsInRead.delete(pid);
      if (process !== undefined && isScanning) results.push(process);
    }
  };
  await Promise.race([Promise.all(Array.from({ length: READERS }, reader)), silence.whenSilent]);
  isScanning = false;
  silence.close();
  return new MarkedProcesses(results);
}

/** Detects that reads no longer complete, or that the scan took too long. */
class SilenceDetector {
  readonly whenSilent: Promise<void>;
  #timer: NodeJS.Timeout | undefined;

  constructor(readCount: () => number) {
    let before = readCount();
    let ticks = 0;
    let silent = 0;
    this.whenSilent = new Promise((resolve) => {
      this.#timer = setInterval(() => {
        ticks += 1;
        silent = readCount() === before ? silent + 1 : 0;
        before = readCount();
        if (silent === SILENT_TICKS || ticks === MAX_TICKS) resolve();
      }, TICK_MS);
    });
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

async function readMarks(pid: string, piece: Buffer, onRead: () => void): Promise<MarkedProcess | undefined> {
  let file: FileHandle | undefined;
  try {
    file = await open(`/proc/${pid}/environ`, 'r');
    onRead();
    const environment = await readAll(file, piece);
    onRead();
    const marks = parseMarks(valueIn(environment) ?? '');
    if (marks.length === 0) return undefined;
    const stat = statOf(Number(pid));
    if (stat === undefined || isZombie(stat)) return undefined;
    // The file refers to the process for which it was opened. If it is readable, that process lives, and the
    // pid was not reused.
    const { bytesRead } = await file.read(piece, 0, 1, 0);
    if (bytesRead === 0) return undefined;
    return { pid: Number(pid), startTime: startTimeIn(stat), group: stat.group, marks };
  } catch {
    // No access, or the process has exited.
    return undefined;
  } finally {
    await file?.close().catch(() => {});
    onRead();
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

/** Returns the value of the mark variable in the raw environment. */
function valueIn(environment: Buffer): string | undefined {
  const isFirst = environment.subarray(0, assignment.length - 1).equals(assignment.subarray(1));
  const before = isFirst ? -1 : environment.indexOf(assignment);
  if (before === -1 && !isFirst) return undefined;
  const start = before + assignment.length;
  const end = environment.indexOf(0, start);
  return environment.toString('latin1', start, end === -1 ? environment.length : end);
}
