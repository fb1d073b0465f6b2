// Connection of a trigger and unresponsive platform, in all views: API, inspector, page and commands.

import { expect, test } from 'vitest';
import type { TriggerStatus } from '../../../../actors/automation/operator/operator.ts';
import { Redactor } from '../../../../actors/base/errors/redact.ts';
import { triggerCounts, triggerTable } from '../../../../src/cli/views/automation.ts';
import { triggerPage } from '../../../../src/cli/views/trigger-page.ts';
import { triggerStats } from '../../../../src/http/api/automation-figures.ts';
import { RecordView } from '../../../../src/http/api/record-view.ts';
import { triggerDetails, triggerRecord } from '../../../../src/http/api/trigger-records.ts';
import { triggerState } from '../../../../src/http/api/trigger-state.ts';
import { triggerFigures } from '../../../../src/inspector/page/automation-figures.ts';
import { plain } from '../../../../src/terminal/paint.ts';
import { manualTrigger } from '../../../fixtures/automation/triggers.ts';

const status: TriggerStatus = {
  trigger: manualTrigger('chat'),
  state: 'open',
  lastError: undefined,
  retryAt: undefined,
  connection: {
    platform: 'botmessenger',
    account: '42',
    state: 'backingOff',
    since: 1_000,
    lastError: 'read ECONNRESET',
    retryAt: 3_000,
  },
  circuit: undefined,
  isPaused: false,
  blockedBy: undefined,
  counts: { handled: 0, failed: 0, lastAt: undefined, refused: undefined, duplicates: undefined },
  requiresConfirmation: false,
  timeoutSeconds: 60,
};
const unused: TriggerStatus = { ...status, connection: undefined };
const unanswered: TriggerStatus = {
  ...unused,
  circuit: { state: 'open', since: 1_000, lastError: '502', retryAt: 3_000 },
};

test('GET /triggers returns the connection of a trigger, or null', () => {
  expect(triggerRecord(status)).toMatchObject({
    state: 'open',
    last_error: null,
    connection: {
      platform: 'botmessenger',
      account: '42',
      state: 'backingOff',
      since: '1970-01-01T00:00:01.000Z',
      last_error: 'read ECONNRESET',
      next_retry_at: '1970-01-01T00:00:03.000Z',
    },
  });
  expect(triggerRecord(unused).connection).toBeNull();
  expect([triggerStats(status).connection, triggerStats(unused).connection]).toEqual(['backingOff', null]);
});

test('GET /triggers returns the retry settings of a trigger', () => {
  expect(triggerRecord({ ...status, timeoutSeconds: 5 })).toMatchObject({
    retry: { attempts: 6, min_backoff_seconds: 5, factor: 3, max_backoff_seconds: 300 },
    timeout_seconds: 5,
    on_failure: 'silent',
    mentions: 'none',
  });
});

test('the inspector shows the state and the redacted error of the platform connection of a trigger', () => {
  const numbers = triggerState(status, new RecordView(new Redactor(['ECONNRESET'])));
  expect(numbers.connection).toMatchObject({ state: 'backingOff', last_error: 'read [redacted]' });
  expect(triggerFigures(numbers, 6_000).at(-1)).toEqual([
    'connection botmessenger/42',
    'backingOff for 5 s: read [redacted]',
  ]);
});

test('`top` counts disconnected triggers, and the trigger list shows the reason', () => {
  const stats = [triggerStats(status), triggerStats(unused)];
  expect(triggerCounts(stats, plain)).toBe(
    '2 triggers: 2 open, 1 not connected; 0 handled, 0 failed attempts',
  );
  const refused = triggerStats({ ...status, state: 'failed' });
  expect(triggerCounts([refused], plain)).toBe('1 trigger: 1 failed; 0 handled, 0 failed attempts');
  expect(triggerTable([triggerRecord(status)], undefined, plain).join('\n')).toContain('read ECONNRESET');
});

test('an unresponsive platform is shown in all views of a trigger, and a responsive one in none', () => {
  expect(triggerRecord(unanswered).circuit).toEqual({
    state: 'open',
    since: '1970-01-01T00:00:01.000Z',
    last_error: '502',
    next_retry_at: '1970-01-01T00:00:03.000Z',
  });
  expect(triggerRecord(unused).circuit).toBeNull();
  const numbers = triggerState(unanswered);
  expect(triggerFigures(numbers, 6_000).at(-1)).toEqual(['platform', 'no response for 5 s: 502']);
  expect(triggerCounts([triggerStats(unanswered), triggerStats(unused)], plain)).toBe(
    '2 triggers: 2 open, 1 with an unresponsive platform; 0 handled, 0 failed attempts',
  );
  expect(triggerTable([triggerRecord(unanswered)], undefined, plain).join('\n')).toContain('502');
});

test('`triggers show` contains the next retry only while it is in the future', () => {
  const details = { sourceText: '', menu: undefined, limits: undefined, remarks: [], records: undefined };
  const page = (circuit: TriggerStatus['circuit']) =>
    triggerPage(triggerDetails({ ...unanswered, ...details, circuit }), undefined, plain).join('\n');
  const since = 'the platform has not responded since 1970-01-01T00:00:01.000Z';
  expect(page(unanswered.circuit)).toContain(`sending       held back; ${since}`);
  expect(page(unanswered.circuit)).toContain('  next try    1970-01-01T00:00:03.000Z');
  const isOver = page({ state: 'halfOpen', since: 1_000, lastError: '502', retryAt: undefined });
  expect(isOver).toContain(`sending       retrying with the next message; ${since}`);
  expect(isOver).not.toContain('next try');
});
