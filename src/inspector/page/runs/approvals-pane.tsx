// Lists pending approvals with the exact action that a person must approve, then decided approvals.

import { useState } from 'preact/hooks';
import type { ApprovalRecord } from '../../../http/api/approval-shapes.ts';
import { runView } from '../address.ts';
import { fetchDecidedApprovals, fetchPendingApprovals, sendCommand } from '../feed/api.ts';
import { type Go, usePolled } from '../feed/hooks.ts';
import { clock, timeSince, timeUntil } from '../format.ts';
import { Link } from '../link.tsx';
import { Pill } from '../pill.tsx';
import { actionHint } from '../rights.ts';
import { decidersText } from './figures.ts';

const REFRESH_MS = 1_000;
/** Page size, as in the list of runs. */
const PAGE = 50;
const MAX_APPROVALS = 200;

interface ApprovalsPaneProps {
  readonly now: number;
  readonly mayAct: boolean;
  readonly go: Go;
}

export function ApprovalsPane({ now, mayAct, go }: ApprovalsPaneProps) {
  const [limit, setLimit] = useState(PAGE);
  const { value, problem } = usePolled(`approvals ${limit}`, () => newest(limit), REFRESH_MS);
  const isEmpty = value?.approvals.length === 0;
  return (
    <section class="pane" aria-label="Approvals">
      <div class="bar">
        <h1>Approvals</h1>
        {!mayAct && (
          <span class="aside">
            {actionHint('decide')}, or use the command `approvals`, or the chat of the request.
          </span>
        )}
      </div>
      {value === undefined && <p class="empty">{problem ?? 'Loading …'}</p>}
      {isEmpty && (
        <p class="empty" id="no-approvals">
          No approvals yet. Approvals are requested by commands with requires_approval, by tools that the
          policy of an agent restricts, and by Approval nodes of flows.
        </p>
      )}
      {value !== undefined && !isEmpty && (
        <ul class="scroll records" aria-label="Pending and decided approvals">
          {value.approvals[0]?.state !== 'pending' && <li class="aside">No pending approvals.</li>}
          {value.approvals.map((approval) => (
            <ApprovalItem key={approval.id} approval={approval} now={now} mayAct={mayAct} go={go} />
          ))}
          {value.hasMore && limit < MAX_APPROVALS && (
            <li>
              <button type="button" onClick={() => setLimit(limit + PAGE)}>
                Load more
              </button>
            </li>
          )}
        </ul>
      )}
      {value?.hasMore === true && limit >= MAX_APPROVALS && (
        <p class="foot">use the command `approvals` for older approvals</p>
      )}
    </section>
  );
}

/** Returns pending approvals before decided ones. */
async function newest(limit: number) {
  const [pending, decided] = await Promise.all([
    fetchPendingApprovals({ limit }),
    fetchDecidedApprovals({ limit }),
  ]);
  return {
    approvals: [...pending.approvals, ...decided.approvals],
    hasMore: pending.next_before !== null || decided.next_before !== null,
  };
}

interface ItemProps extends ApprovalsPaneProps {
  readonly approval: ApprovalRecord;
  /** True if the approval is shown with its run. */
  readonly isOfRun?: boolean;
}

export function ApprovalItem({ approval, now, mayAct, go, isOfRun = false }: ItemProps) {
  const { id, run, state, title, agent, requested_by, requested_at, request } = approval;
  const isTruncated = request?.is_cut !== false;
  const isPending = state === 'pending';
  const content = (
    <>
      <pre>{request?.text}</pre>
      {isTruncated && <p class="note">Truncated; use the command `approvals show` for the complete text.</p>}
    </>
  );
  return (
    <li data-approval={id}>
      <div class="head">
        <strong>
          <bdi>{title}</bdi>
        </strong>
        <Pill state={state} />
        {!isOfRun && (
          <Link to={runView(run)} go={go}>
            run
          </Link>
        )}
        <span class="aside when">{`requested ${timeSince(requested_at, now)} ago`}</span>
      </div>
      <div class="aside">
        for <bdi>{agent}</bdi>,{' '}
        {requested_by !== null && (
          <>
            requested by <bdi>{requested_by.user}</bdi>,{' '}
          </>
        )}
        <Decider approval={approval} now={now} />
      </div>
      {isPending ? (
        content
      ) : (
        <details>
          <summary>action</summary>
          {content}
        </details>
      )}
      {isPending && mayAct && <Decision id={id} mayApprove={!isTruncated} />}
    </li>
  );
}

/** Shows who may decide a pending approval, or the decision. */
function Decider({ approval, now }: { readonly approval: ApprovalRecord; readonly now: number }) {
  const { state, expires_at, decided_at, decided_by, via, comment } = approval;
  if (state === 'pending') {
    const deciders = decidersText(approval);
    return (
      <>
        may be decided by{' '}
        {deciders !== undefined && (
          <>
            <bdi>{deciders}</bdi>, or{' '}
          </>
        )}
        an operator
        {expires_at !== null && `, expires in ${timeUntil(expires_at, now)}`}
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
  const [message, setMessage] = useState('');
  const decide = async (verb: 'approve' | 'deny'): Promise<void> => {
    setBusy(true);
    setMessage('');
    try {
      await sendCommand(`approvals/${encodeURIComponent(id)}/${verb}`, { comment });
    } catch (error) {
      setMessage((error as Error).message);
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
      <span class="feedback" role="status">
        {message}
      </span>
    </p>
  );
}
