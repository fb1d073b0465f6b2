// Banner with the alarms of the gateway, in views without the overview's list of problems.

import type { AlarmRecord } from '../../../http/api/alarm-shapes.ts';
import { OVERVIEW } from '../address.ts';
import type { Go } from '../feed/hooks.ts';
import { pluralize } from '../format.ts';
import { Link } from '../link.tsx';

interface AlarmBannerProps {
  readonly alarms: readonly AlarmRecord[];
  readonly go: Go;
}

export function AlarmBanner({ alarms, go }: AlarmBannerProps) {
  if (alarms.length === 0) return null;
  const hasError = alarms.some(({ severity }) => severity === 'error');
  return (
    <p class={`banner ${hasError ? 'bad' : 'warn'}`} role={hasError ? 'alert' : 'status'} id="alarms">
      <strong>{`${pluralize(alarms.length, 'alarm')}:`}</strong> {alarms.map(({ code }) => code).join(', ')}{' '}
      <Link to={{ actor: OVERVIEW, tab: 'log' }} go={go}>
        Show
      </Link>
    </p>
  );
}
