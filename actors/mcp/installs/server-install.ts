// The installation that precedes one server's start. It has a separate time limit, so
// `start_timeout_seconds` counts only the start of the installed program.

import type { StdioEntry } from '../../../config/catalog/catalog-schema.ts';
import { type GatewayError, StartFailedError, StartTimeoutError } from '../../base/errors/errors.ts';
import type { GatewayEnvironment } from '../links/stdio/child-env.ts';
import type { Installation } from './installation.ts';
import { type Installer, installerOf } from './installer.ts';
import type { Installs } from './installs.ts';
import type { NpxFolder } from './npx-folder.ts';

export interface ServerInstallOptions {
  readonly server: string;
  readonly entry: StdioEntry;
  /** Environment of the gateway. */
  readonly environment: GatewayEnvironment;
  readonly installs: Installs;
}

export class ServerInstall {
  readonly #options: ServerInstallOptions;
  /** Undefined unless the command is a launcher: a program such as npx that installs the server first. */
  readonly #installer: Installer | undefined;
  #installation: Installation | undefined;

  constructor(options: ServerInstallOptions) {
    this.#options = options;
    this.#installer = installerOf(options.entry, options.environment);
  }

  /** The pending installation. */
  get current(): Installation | undefined {
    return this.#installation;
  }

  /**
   * Folder into which npx installs the server. Links (connections to processes) move it away if it is
   * incomplete, and error messages of failed starts name it.
   */
  get folder(): NpxFolder | undefined {
    return this.#installer?.folder;
  }

  /** Installs the program; undefined if it is installed. Rejects with a GatewayError. */
  ensure(): Promise<void> | undefined {
    if (this.#installer === undefined) return undefined;
    const { installs, entry } = this.#options;
    const installation = installs.start(this.#installer, entry.install_timeout_seconds * 1000, this);
    this.#installation = installation;
    return installation?.whenDone
      .catch((error: GatewayError) => {
        throw this.#failure(error);
      })
      .finally(() => {
        if (this.#installation === installation) this.leave();
      });
  }

  /** Leaves the installation, which continues if it is running. */
  leave(): void {
    if (this.#installation !== undefined) this.#options.installs.leave(this.#installation, this);
    this.#installation = undefined;
  }

  #failure(cause: GatewayError): GatewayError {
    const message = `server ${this.#options.server} could not be installed: ${cause.message}`;
    if (cause instanceof StartFailedError) return new StartFailedError(message, cause.stderrTail, { cause });
    return cause instanceof StartTimeoutError ? new StartTimeoutError(message, { cause }) : cause;
  }
}
