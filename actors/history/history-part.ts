// The gateway's history as a part of its life cycle: the recent calls in memory, and their files if this
// gateway owns the state folder. It starts before the servers and drains after them, so that it receives
// every call.

import { join } from 'node:path';
import type { GatewayConfig } from '../../config/gateway-file/gateway-schema.ts';
import type { Part } from '../base/supervision/part.ts';
import { RecentCalls } from './recent-calls.ts';
import { StoredCalls, type StoredCallsOptions } from './stored-calls.ts';

export interface HistoryOptions extends Pick<StoredCallsOptions, 'redactor' | 'alarms' | 'log'> {
  readonly config: Pick<GatewayConfig, 'history'>;
  /** State folder; undefined unless this gateway owns it. */
  readonly stateDir: string | undefined;
}

export class History implements Part {
  readonly calls: RecentCalls;
  readonly #stored: StoredCalls | undefined;

  static async open({ config, stateDir, ...rest }: HistoryOptions): Promise<History> {
    const recent = new RecentCalls();
    if (stateDir === undefined) return new History(recent, undefined);
    const maxBytes = config.history.max_mb * 1024 * 1024;
    const folder = join(stateDir, 'history');
    return new History(recent, await StoredCalls.open({ folder, maxBytes, recent, ...rest }));
  }

  private constructor(calls: RecentCalls, stored: StoredCalls | undefined) {
    this.calls = calls;
    this.#stored = stored;
  }

  /** Writes the last calls. */
  async drain(): Promise<void> {
    await this.#stored?.close();
  }
}
