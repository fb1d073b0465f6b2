// What waits for somebody's approval, with exactly what is to be done, and what was decided lately.

import { useState } from 'preact/hooks';
import type { ApprovalRecord } from '../../../http/api/approval-shapes.ts';
import { runView } from '../address.ts';
import { command, decidedApprovals, pendingApprovals } from '../feed/api.ts';
import { type Go, useAsked } from '../feed/hooks.ts';
import { Link } from '../link.tsx';
import { Pill } from '../pill.tsx';
import { howToAct } from '../rights.ts';
import { ago, clock, left } from '../words.ts';
import { decidersText } from './run-words.ts';

const REFRESH_MS = 1_000;
/** As in the list of runs. */
const PAGE = 50;
const MOST = 200;

interface ApprovalsPaneProps {
  readonly now: number;
  readonly mayAct: boolean;
  readonly go: Go;
}

export function ApprovalsPane({ now, mayAct, go }: ApprovalsPaneProps) {
  const [limit, setLimit] = useState(PAGE);
  const { value, problem } = useAsked(`approvals ${limit}`, () => newest(limit), REFRESH_MS);
  const isEmpty = value?.approvals.length === 0;
  return (
    <section class="pane" aria-label="Approvals">
      <div class="bar">
        <h1>Approvals</h1>
        {!mayAct && (
          <span class="aside">
            {howToAct('decide')}; or use the command approvals, or the chat where it was asked.
          </span>
        )}
      </div>
      {value === undefined && <p class="empty">{problem ?? 'Asking …'}</p>}
      {isEmpty && (
        <p class="empty" id="no-approvals">
          Nothing has asked for an approval. What does: a command with requires_approval, the tools that the
          policy of an agent asks about, and a node of type Approval in a flow.
        </p>
      )}
      {value !== undefined && !isEmpty && (
        <ul class="scroll records" aria-label="Pending and decided">
          {value.approvals[0]?.state !== 'pending' && <li class="aside">None is pending.</li>}
          {value.approvals.map((approval) => (
            <ApprovalItem key={approval.id} {...{ approval, now, mayAct, go }} />
          ))}
          {value.hasMore && limit < MOST && (
            <li>
              <button type="button" onClick={() => setLimit(limit + PAGE)}>
                Older ones
              </button>
            </li>
          )}
        </ul>
      )}
      {value?.hasMore === true && limit >= MOST && <p class="foot">the command `approvals` has the rest</p>}
    </section>
  );
}

/** Returns pending approvals before decided ones. */
async function newest(limit: number) {
  const [pending, decided] = await Promise.all([pendingApprovals({ limit }), decidedApprovals({ limit })]);
  return {
    approvals: [...pending.approvals, ...decided.approvals],
    hasMore: pending.next_before !== null || decided.next_before !== null,
  };
}

interface ItemProps extends ApprovalsPaneProps {
  readonly approval: ApprovalRecord;
  /** It stands with its run. */
  readonly isOfRun?: boolean;
}

export function ApprovalItem({ approval, now, mayAct, go, isOfRun = false }: ItemProps) {
  const { id, run, state, title, agent, requested_by, requested_at, request } = approval;
  const isCut = request?.is_cut !== false;
  const isPending = state === 'pending';
  const shown = (
    <>
      <pre>{request?.text}</pre>
      {isCut && (
        <p class="note">It is too long to be shown whole here; the command approvals show has all of it.</p>
      )}
    </>
  );
  return (
    <li data-approval={id}>
      <strong>
        <bdi>{title}</bdi>
      </strong>{' '}
      <Pill state={state} />{' '}
      {!isOfRun && (
        <Link to={runView(run)} go={go}>
          the run
        </Link>
      )}
      <span class="aside when">{`asked ${ago(requested_at, now)} ago`}</span>
      <div class="aside">
        of <bdi>{agent}</bdi>,{' '}
        {requested_by !== null && (
          <>
            asked for by <bdi>{requested_by.user}</bdi>,{' '}
          </>
        )}
        <Who approval={approval} now={now} />
      </div>
      {isPending ? (
        shown
      ) : (
        <details>
          <summary>what it was</summary>
          {shown}
        </details>
      )}
      {isPending && mayAct && <Decision id={id} mayApprove={!isCut} />}
    </li>
  );
}

/** Who may decide, or who has. */
function Who({ approval, now }: { readonly approval: ApprovalRecord; readonly now: number }) {
  const { state, expires_at, decided_at, decided_by, via, comment } = approval;
  if (state === 'pending') {
    const whom = decidersText(approval);
    return (
      <>
        may be decided by{' '}
        {whom !== undefined && (
          <>
            <bdi>{whom}</bdi>, or{' '}
          </>
        )}
        an operator
        {expires_at !== null && `, for ${left(expires_at, now)}`}
      </>
    );
  }
  return (
    <>
      {state}
      {decided_by !== null && (
        <>
          {' '}
          by <bdi>{decided_by}</bdi>
        </>
      )}
      {via !== null && ` (${via})`}
      {decided_at !== null && ` at ${clock(decided_at).slice(0, 8)}`}
      {comment !== null && (
        <>
          : <bdi>{comment}</bdi>
        </>
      )}
    </>
  );
}

function Decision({ id, mayApprove }: { readonly id: string; readonly mayApprove: boolean }) {
  const [comment, setComment] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [told, setTold] = useState('');
  const decide = async (verb: 'approve' | 'deny'): Promise<void> => {
    setBusy(true);
    setTold('');
    try {
      await command(`approvals/${encodeURIComponent(id)}/${verb}`, { comment });
    } catch (error) {
      setTold((error as Error).message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <p class="commands">
      <input
        type="text"
        maxLength={2000}
        placeholder="Comment"
        aria-label="Comment on the decision"
        value={comment}
        onInput={({ currentTarget }) => setComment(currentTarget.value)}
      />
      <button type="button" disabled={isBusy || !mayApprove} onClick={() => void decide('approve')}>
        Approve
      </button>
      <button type="button" disabled={isBusy} onClick={() => void decide('deny')}>
        Deny
      </button>
      <span class="told" role="status">
        {told}
      </span>
    </p>
  );
}
