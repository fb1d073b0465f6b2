// Temporary folders of terminal chats, and cleanup after killed programs: the folder, and possibly its
// gateway. Each folder contains the pids and start times of its owners; folders without a dead owner are not
// touched.

import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { identityOf, isAlive, type ProcessIdentity } from '../../actors/state/process-identity.ts';

const PREFIX = 'actor-gateway-try-';
const OWNERS = 'owners.json';
/** Exceeds the shutdown time of a gateway. */
const END_MS = 10_000;

interface Owners {
  readonly program: ProcessIdentity;
  readonly gateway?: ProcessIdentity;
}

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), PREFIX));
  noteOwners(folder, { program: identityOf(process.pid) });
  return folder;
}

export function noteGateway(folder: string, pid: number): void {
  noteOwners(folder, { program: identityOf(process.pid), gateway: identityOf(pid) });
}

function noteOwners(folder: string, owners: Owners): void {
  writeFileSync(join(folder, OWNERS), JSON.stringify(owners));
}

/** Stops gateways of killed programs, and removes their folders. */
export async function removeLeft(): Promise<void> {
  const folders = readdirSync(tmpdir()).filter((name) => name.startsWith(PREFIX));
  await Promise.all(folders.map((name) => removeIfLeft(join(tmpdir(), name))));
}

async function removeIfLeft(folder: string): Promise<void> {
  const { program, gateway } = ownersOf(folder) ?? {};
  if (program === undefined || isAlive(program)) return;
  if (gateway !== undefined && !(await isEnded(gateway))) return;
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** The start time is compared too, since the pid may have been reused. */
async function isEnded(left: ProcessIdentity): Promise<boolean> {
  const deadline = performance.now() + END_MS;
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (!isAlive(left)) return true;
    if (left.startTime === undefined) return false;
    end(left, signal);
    while (isAlive(left) && performance.now() < deadline) await pause(50);
  }
  return !isAlive(left);
}

function end({ pid }: ProcessIdentity, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Already ended.
  }
}

/** Returns undefined for a folder of another user, or without valid owners. */
function ownersOf(folder: string): Owners | undefined {
  try {
    const { uid } = lstatSync(folder);
    if (uid !== process.getuid?.() && process.getuid !== undefined) return undefined;
    const owners = JSON.parse(readFileSync(join(folder, OWNERS), 'utf8')) as Partial<Owners>;
    const isWhole = [owners.program, owners.gateway ?? owners.program].every(
      (each) => Number.isSafeInteger(each?.pid) && Number(each?.pid) > 1,
    );
    return isWhole ? (owners as Owners) : undefined;
  } catch {
    return undefined;
  }
}
