// Pending approvals of one run, shown above its details.

import { fetchPendingApprovals } from '../feed/api.ts';
import { type Go, usePolled } from '../feed/hooks.ts';
import { actionHint } from '../rights.ts';
import { ApprovalItem } from './approvals-pane.tsx';

const REFRESH_MS = 1_000;
const MAX_APPROVALS = 20;

interface RunApprovalsProps {
  readonly id: string;
  readonly now: number;
  readonly mayAct: boolean;
  readonly go: Go;
}

export function RunApprovals({ id, now, mayAct, go }: RunApprovalsProps) {
  const { value } = usePolled(
    `approvals of ${id}`,
    () => fetchPendingApprovals({ limit: MAX_APPROVALS, run: id }),
    REFRESH_MS,
  );
  if (value === undefined || value.approvals.length === 0) return null;
  return (
    <section class="pending" aria-label="Pending approvals">
      <ul class="records">
        {value.approvals.map((approval) => (
          <ApprovalItem key={approval.id} approval={approval} now={now} mayAct={mayAct} go={go} isOfRun />
        ))}
      </ul>
      {!mayAct && (
        <p class="aside">
          {actionHint('decide')}, or use the command `approvals`, or the chat of the request.
        </p>
      )}
    </section>
  );
}
