// Output of `calls`: a table, newest first.

import type { CallList, CallRecord } from '../../http/api/call-shapes.ts';
import type { Paint } from '../../terminal/paint.ts';
import { latency } from './figures.ts';
import { localTime } from './local-time.ts';
import { type Column, table } from './table.ts';

export function callTable({ calls, next_before }: CallList, paint: Paint, width?: number): string[] {
  if (calls.length === 0) return ['no calls'];
  const columns: Column<CallRecord>[] = [
    { title: 'ENDED', text: ({ at }) => localTime(at) },
    { title: 'SERVER', text: ({ server }) => server ?? '-' },
    { title: 'TOOL', text: ({ tool, method }) => tool ?? `(${method})` },
    {
      title: 'RESULT',
      text: ({ outcome }) => outcome,
      paint: ({ outcome }, text) => paint(outcome === 'ok' ? 'good' : 'bad', text),
    },
    { title: 'TOOK', isNumber: true, text: ({ ms }) => latency(ms) },
    { title: 'BYTES', isNumber: true, text: ({ bytes }) => String(bytes) },
    { title: 'CLIENT', text: ({ client }) => client ?? '-' },
    { title: 'SESSION', text: ({ session }) => session ?? '-' },
    { title: 'CODE', text: ({ code }) => code ?? '' },
  ];
  const more = next_before === null ? [] : [paint('faint', `more: --before ${next_before}`)];
  return [...table(columns, calls, width), ...more];
}
