// What an event has as a run beside its delivery: its journal, and what it has asked people. Both come with its turns, end or begin anew
// with it, and are removed with its record.

import type { DecidedApproval, NewDecision } from '../approval.ts';
import type { NewEvent } from '../event.ts';
import type { TurnResult } from '../store.ts';
import { SqliteApprovals } from './approvals.ts';
import type { SqliteConnection } from './connection.ts';
import { SqliteRuns } from './runs.ts';

export class RunRecords {
  readonly journals: SqliteRuns;
  readonly approvals: SqliteApprovals;
  readonly #append: (event: NewEvent, now: number) => void;

  /** `append` is for what is to happen with a decision, or with the end of what was asked. */
  constructor(connection: SqliteConnection, append: (event: NewEvent, now: number) => void) {
    this.journals = new SqliteRuns(connection);
    this.approvals = new SqliteApprovals(connection);
    this.#append = append;
  }

  /** What a turn says of the run; one that ends it asks nobody any more. */
  keep(result: TurnResult, now: number): void {
    this.journals.keep(result, now);
    if (result.outcome !== 'checkpoint' && result.outcome !== 'parked') return;
    for (const asked of result.asks ?? []) this.approvals.ask(result.seq, asked, now);
  }

  /** Nobody needs to decide any more. */
  end(seq: number, now: number): void {
    for (const event of this.approvals.cancel(seq, now)) this.#append(event, now);
  }

  /** There is nothing of the run any more. Gives how many bytes its journal had. */
  remove(seq: number): number {
    this.approvals.remove(seq);
    return this.journals.drop(seq);
  }

  decide(id: string, { state, decision, emit }: NewDecision, now: number): DecidedApproval | undefined {
    const isFirst = this.approvals.decide(id, state, decision, now);
    if (isFirst) for (const event of emit) this.#append(event, now);
    const approval = this.approvals.find(id);
    return approval && { isFirst, approval };
  }
}
