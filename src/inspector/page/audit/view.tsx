// Lines of the audit, newest first, with a filter by each member. Shows one page, and polls it.

import type { AuditRecord } from '../../../http/api/audit-shapes.ts';
import { auditView } from '../address.ts';
import { fetchAudit } from '../feed/api.ts';
import { type Go, usePolled } from '../feed/hooks.ts';
import { dateAndTime, ms } from '../format.ts';
import { PageFoot } from '../page-foot.tsx';
import { Pill } from '../pill.tsx';
import { auditParams, textFilters, withAuditValue } from './filter.ts';

const REFRESH_MS = 3_000;

interface AuditViewProps {
  readonly query: string;
  readonly go: Go;
}

export function AuditView({ query, go }: AuditViewProps) {
  const params = auditParams(query);
  const { value, problem } = usePolled(`audit ${params}`, () => fetchAudit(params), REFRESH_MS);
  const isFiltered = textFilters.some((name) => params.has(name));
  return (
    <section class="pane" aria-label="Audit">
      <div class="bar">
        <h1>Audit</h1>
        <Filter query={query} go={go} />
      </div>
      {problem !== undefined && <p class="empty">{problem}</p>}
      {value === undefined && problem === undefined && <p class="empty">Loading …</p>}
      {value?.lines.length === 0 && <p class="empty">No lines on this page.</p>}
      {value !== undefined && value.lines.length > 0 && <LineTable lines={value.lines} />}
      {value !== undefined && (
        <PageFoot
          count={value.lines.length}
          noun="line"
          isFiltered={isFiltered}
          isNewest={!params.has('before')}
          nextBefore={value.next_before}
          pageAt={(before) => auditView(withAuditValue(query, 'before', before))}
          go={go}
        />
      )}
    </section>
  );
}

function Filter({ query, go }: AuditViewProps) {
  const params = new URLSearchParams(query);
  return (
    <>
      {textFilters.map((name) => (
        <input
          key={name}
          aria-label={name}
          placeholder={name === 'since' || name === 'until' ? `${name}, such as 15m` : name}
          value={params.get(name) ?? ''}
          onChange={({ currentTarget }) =>
            go(auditView(withAuditValue(query, name, currentTarget.value.trim())))
          }
        />
      ))}
    </>
  );
}

function LineTable({ lines }: { readonly lines: readonly AuditRecord[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable
    <div class="scroll details" tabIndex={0}>
      <table class="calls" aria-label="Audit, newest first">
        <thead>
          <tr>
            {['time', 'principal', 'action', 'target', 'outcome', 'duration', 'request'].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <LineRow key={line.chain} line={line} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function LineRow({ line }: { readonly line: AuditRecord }) {
  const { time, node, tenant, principal, role, action, target, outcome, status, count, request_id } = line;
  const origin = [tenant, role, node].filter((each) => each !== null).join(' ');
  return (
    <tr>
      <td title={time}>{dateAndTime(time)}</td>
      <td title={origin}>
        <bdi>{principal}</bdi>
      </td>
      <td>{action}</td>
      <td>
        <bdi>{target ?? (count === undefined ? '–' : `${count}`)}</bdi>
      </td>
      <td>
        <Pill state={outcome} /> {status !== null && <span class="aside">{status}</span>}
      </td>
      <td>{ms(line.ms)}</td>
      <td>
        <span class="aside">{request_id ?? '–'}</span>
      </td>
    </tr>
  );
}
