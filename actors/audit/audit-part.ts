// The audit as a part of the gateway's life cycle: records calls, operations and refused sign-ins. It starts
// before the servers and drains after them, so that it receives every call. Imported only if configured.

import { join } from 'node:path';
import type { AuditConfig } from '../../config/gateway-file/audit-schema.ts';
import type { Alarms } from '../base/alarms/alarms.ts';
import { AlreadyInUseError, AuditUnavailableError, OverloadedError } from '../base/errors/errors.ts';
import type { Log } from '../base/errors/log.ts';
import type { Redactor } from '../base/errors/redact.ts';
import type { Part } from '../base/supervision/part.ts';
import { acquireStateLock, type StateLock } from '../state/lock.ts';
import { AUDIT_FOLDER, OWN_CHAIN, slotPath } from './audit-files.ts';
import { type AuditEntry, LineFormat } from './audit-line.ts';
import { AuditLog } from './audit-log.ts';
import { ChainFile } from './chain-file.ts';
import { type AuditFilter, type AuditPage, queryLines } from './query-lines.ts';
import { SignInLimit } from './sign-in-limit.ts';

export interface AuditOptions {
  readonly config: AuditConfig;
  readonly stateDir: string;
  /** True if other gateways use the same configuration, so that this one needs files of its own. */
  readonly isShared: boolean;
  /** Name of this node. */
  readonly node: string;
  readonly redactor: Pick<Redactor, 'redact' | 'patternCount'>;
  readonly alarms: Pick<Alarms, 'raise' | 'clear'>;
  readonly log: Log;
}

/** Maximum number of gateways that share a configuration. */
const SLOTS = 256;
const MAX_QUERIES = 4;

export class Audit implements Part {
  /** True if calls need recorded arguments. */
  readonly hasArguments: boolean;
  readonly #log: AuditLog;
  readonly #path: string;
  readonly #isStrict: boolean;
  readonly #lock: StateLock | undefined;
  readonly #signIns: SignInLimit;
  #queries = 0;

  /** Rejects with AuditUnavailableError if the file cannot be used, except on a full disk. */
  static async open(options: AuditOptions): Promise<Audit> {
    const { config, stateDir, isShared, node, redactor, alarms, log } = options;
    const chains = join(stateDir, AUDIT_FOLDER);
    const { slot, lock } = isShared ? await takeSlot(chains) : { slot: OWN_CHAIN, lock: undefined };
    const path = isShared ? slotPath(config.path, slot) : config.path;
    const format = new LineFormat({ node, redactor });
    const file = await ChainFile.open({
      path,
      maxBytes: config.max_bytes,
      keep: config.keep,
      stateDir: join(chains, slot),
      firstLine: (previous) =>
        format.body({ principal: 'gateway', action: 'audit/file', outcome: 'ok', previous }),
      onRecordFailed: ({ message }) => log.warn({ reason: message }, 'could not store the end of the audit'),
    }).catch((error: Error) => {
      throw new AuditUnavailableError(`cannot open the audit file ${path}: ${error.message}`);
    });
    const isLogged = config.log;
    const lines = new AuditLog({
      ...{ file, path, format, alarms, log, isLogged },
      maxBytes: config.max_bytes,
    });
    const audit = new Audit(options, lines, path, lock);
    audit.#recordOwn('gateway/start');
    await lines.flush();
    return audit;
  }

  private constructor({ config }: AuditOptions, log: AuditLog, path: string, lock: StateLock | undefined) {
    this.hasArguments = config.arguments;
    this.#isStrict = config.when_full === 'refuse';
    this.#log = log;
    this.#path = path;
    this.#lock = lock;
    this.#signIns = new SignInLimit((count) =>
      log.add({ principal: 'anonymous', action: 'sign-in', outcome: 'refused', count }),
    );
  }

  record(entry: AuditEntry): void {
    // A refused request is counted instead, because its line cannot be written.
    if (this.#isStrict && this.#log.isBlocked && entry.outcome === 'unavailable') this.#log.countRefused();
    else this.#log.add(entry);
  }

  /** Records a sender with wrong or missing credentials. */
  recordSignIn(network: string, status: number, requestId: string): void {
    if (!this.#signIns.take(network)) return;
    const outcome = 'refused';
    this.#log.add({ principal: 'anonymous', action: 'sign-in', target: network, outcome, status, requestId });
  }

  /** Returns the error for calls and operations while lines cannot be written; undefined if they may run. */
  refusal(): AuditUnavailableError | undefined {
    if (!this.#isStrict || !this.#log.isBlocked) return undefined;
    return new AuditUnavailableError(
      'the audit cannot be written, and audit.when_full is refuse; free disk space, and retry',
    );
  }

  /** Opens the file again, for programs that rename it. */
  reopen(): Promise<void> {
    return this.#log.reopen();
  }

  /** Returns recorded lines, newest first. Rejects with OverloadedError. */
  async list(filter: AuditFilter): Promise<AuditPage> {
    if (this.#queries >= MAX_QUERIES)
      throw new OverloadedError('too many queries of the audit; retry shortly');
    this.#queries += 1;
    try {
      await this.#log.flush();
      return await queryLines(this.#path, filter);
    } finally {
      this.#queries -= 1;
    }
  }

  async drain(): Promise<void> {
    this.#signIns.endPeriod();
    this.#recordOwn('gateway/stop');
    await this.#log.close();
    await this.#lock?.release();
  }

  #recordOwn(action: string): void {
    this.#log.add({ principal: 'gateway', action, outcome: 'ok' });
  }
}

/** Locks the first free slot among gateways with the same configuration. */
async function takeSlot(chains: string): Promise<{ readonly slot: string; readonly lock: StateLock }> {
  for (let number = 1; number <= SLOTS; number += 1) {
    const slot = `stdio-${number}`;
    try {
      return { slot, lock: await acquireStateLock(join(chains, slot), { listenAddr: 'none' }) };
    } catch (error) {
      if (!(error instanceof AlreadyInUseError)) throw error;
    }
  }
  throw new AuditUnavailableError(`more than ${SLOTS} gateways use the audit of one configuration`);
}
