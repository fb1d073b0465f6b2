// What a run waits for that somebody has to decide, where it is shown.

import { pendingApprovals } from '../feed/api.ts';
import { type Go, useAsked } from '../feed/hooks.ts';
import { howToAct } from '../rights.ts';
import { ApprovalItem } from './approvals-pane.tsx';

const REFRESH_MS = 1_000;
const MOST = 20;

interface RunApprovalsProps {
  readonly id: string;
  readonly now: number;
  readonly mayAct: boolean;
  readonly go: Go;
}

export function RunApprovals({ id, now, mayAct, go }: RunApprovalsProps) {
  const { value } = useAsked(
    `approvals of ${id}`,
    () => pendingApprovals({ limit: MOST, run: id }),
    REFRESH_MS,
  );
  if (value === undefined || value.approvals.length === 0) return null;
  return (
    <section class="asks" aria-label="Waits for a decision">
      <ul class="records">
        {value.approvals.map((approval) => (
          <ApprovalItem key={approval.id} approval={approval} {...{ now, mayAct, go }} isOfRun />
        ))}
      </ul>
      {!mayAct && (
        <p class="aside">
          {howToAct('decide')}; or use the command approvals, or the chat where it was asked.
        </p>
      )}
    </section>
  );
}
