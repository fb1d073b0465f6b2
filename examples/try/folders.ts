// The folders of the chats in the terminal, and what is left of one whose program was killed: the folder, and perhaps its gateway.
// Each folder says whose it is, by pids and start times; what is not known to be left is left alone.

import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { identityOf, isAlive, type ProcessIdentity } from '../../actors/state/process-identity.ts';

const PREFIX = 'actor-gateway-try-';
const OWNERS = 'owners.json';
/** Longer than a gateway takes to end by itself. */
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

/** Ends the gateways of programs that were killed, and removes their folders. */
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

/** A pid alone may have become somebody else's. */
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
    // It has ended meanwhile.
  }
}

/** Undefined for a folder of another user, and one that does not say whose it is. */
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
