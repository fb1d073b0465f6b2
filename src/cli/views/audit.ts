// Output of `audit`: a table, newest first.

import type { AuditList, AuditRecord } from '../../http/api/audit-shapes.ts';
import type { Paint } from '../../terminal/paint.ts';
import { latency } from './figures.ts';
import { localTime } from './local-time.ts';
import { type Column, table } from './table.ts';

export function auditTable({ lines, next_before }: AuditList, paint: Paint, width?: number): string[] {
  const columns: Column<AuditRecord>[] = [
    { title: 'TIME', text: ({ time }) => localTime(time) },
    { title: 'PRINCIPAL', text: ({ principal }) => principal },
    { title: 'ACTION', text: ({ action }) => action },
    { title: 'TARGET', text: ({ target, count }) => target ?? (count === undefined ? '-' : `${count}`) },
    {
      title: 'OUTCOME',
      text: ({ outcome }) => outcome,
      paint: ({ outcome }, text) => paint(outcome === 'ok' ? 'good' : 'bad', text),
    },
    { title: 'STATUS', isNumber: true, text: ({ status }) => (status === null ? '-' : String(status)) },
    { title: 'TOOK', isNumber: true, text: ({ ms }) => latency(ms) },
    { title: 'REQUEST', text: ({ request_id }) => request_id ?? '' },
  ];
  const rows = lines.length === 0 ? ['no lines'] : table(columns, lines, width);
  return [...rows, ...(next_before === null ? [] : [paint('faint', `more: --before ${next_before}`)])];
}
