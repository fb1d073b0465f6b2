// Installs the programs of local servers by their launchers (npx, uvx, docker). At most MAX_SLOTS
// installations run at a time, in order of request. Servers with equal packages share an installation. If no
// server needs it any more, a running installation continues, and a queued one is dropped.

import { availableParallelism, totalmem } from 'node:os';
import { StoppedError } from '../../base/errors/errors.ts';
import type { Log } from '../../base/errors/log.ts';
import type { Redactor } from '../../base/errors/redact.ts';
import { Installation } from './installation.ts';
import type { Installer } from './installer.ts';

const MAX_SLOTS = 2;
const SMALL_MEMORY_BYTES = 1024 ** 3;
/** Maximum number of remembered installers. */
const MAX_REMEMBERED = 10_000;

export class Installs {
  readonly #redactor: Redactor;
  readonly #log: Log;
  readonly #slots = slotCount();
  /** Running and waiting installations by key, oldest first, with the servers that wait for them. */
  readonly #open = new Map<string, { readonly installation: Installation; readonly users: Set<object> }>();
  /** Keys of completed installations, for installers without a folder that shows the completion. */
  readonly #installed = new Set<string>();
  #running = 0;
  #isClosed = false;

  constructor(log: Log, redactor: Redactor) {
    this.#log = log;
    this.#redactor = redactor;
  }

  /**
   * Starts or joins the installation for a server; undefined if everything is installed. `user` identifies
   * the server until `leave`.
   */
  start(installer: Installer, timeoutMs: number, user: object): Installation | undefined {
    const { key } = installer;
    let open = this.#open.get(key);
    if (open === undefined) {
      if (installer.folder?.isComplete === true || this.#installed.has(key)) return undefined;
      open = { installation: new Installation(installer, timeoutMs, this.#redactor), users: new Set() };
      this.#open.set(key, open);
      if (this.#isClosed) open.installation.settle(stopped());
    }
    open.users.add(user);
    this.#startNext();
    return open.installation;
  }

  /** Removes a user of the installation. */
  leave({ installer, startedAt }: Installation, user: object): void {
    const open = this.#open.get(installer.key);
    open?.users.delete(user);
    if (open?.users.size === 0 && startedAt === undefined) this.#open.delete(installer.key);
  }

  /** Kills all installations. Resolves when their processes have exited. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(
      [...this.#open.values()].map(async ({ installation }) => {
        installation.settle(stopped());
        await installation.kill();
      }),
    );
  }

  #startNext(): void {
    for (const { installation } of this.#open.values()) {
      if (this.#isClosed || this.#running >= this.#slots) return;
      if (installation.startedAt === undefined) void this.#run(installation);
    }
  }

  async #run(installation: Installation): Promise<void> {
    const { program, key, folder } = installation.installer;
    this.#running += 1;
    this.#log.info({ program, folder: folder?.path }, 'installing a server');
    const failure = await installation.run();
    this.#running -= 1;
    this.#open.delete(key);
    const { seconds } = installation;
    if (failure === undefined) {
      if (folder?.isComplete !== true && this.#installed.size < MAX_REMEMBERED) this.#installed.add(key);
      this.#log.info({ program, folder: folder?.path, seconds }, 'installed a server');
    }
    installation.settle(failure);
    void folder?.removeRenamed();
    this.#startNext();
  }
}

function stopped(): StoppedError {
  return new StoppedError('the gateway is stopping');
}

/** Number of concurrent installations: each takes a processor, and up to half a GB of memory. */
function slotCount(): number {
  return availableParallelism() === 1 || totalmem() < SMALL_MEMORY_BYTES ? 1 : MAX_SLOTS;
}
