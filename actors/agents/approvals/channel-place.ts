// A channel that a file names, as a place to which something can be sent: of the account of the trigger, or of another one whose
// conversation is written whole.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { type Adapter, accountOf } from '../../platforms/adapter.ts';
import { HandlerError } from '../handlers/handler.ts';
import type { AskedAt } from './approval-rows.ts';
import type { ApprovalPlaces } from './approvals.ts';

/** Who speaks. */
interface Speaker {
  readonly adapter: Adapter;
  readonly trigger: Trigger;
}

/** Undefined where the platform takes no messages at all. Rejects with a HandlerError for a channel that cannot be reached. */
export async function channelPlace(
  { adapter, trigger }: Speaker,
  channel: string,
  places: ApprovalPlaces,
  what = 'the channel',
): Promise<AskedAt | undefined> {
  const elsewhere = otherPlatform(trigger, channel, places);
  if (elsewhere === undefined && adapter.outbound === undefined) return undefined;
  const target = await (elsewhere === undefined
    ? ofAccount({ adapter, trigger }, channel)
    : elsewhere.adapter.outbound?.destination?.(elsewhere.trigger, channel));
  if (target !== undefined) return { ...(elsewhere ?? { adapter, trigger }), target };
  throw new HandlerError(
    `nobody can be asked or told: ${trigger.type} knows no way to ${what} ${JSON.stringify(channel.slice(0, 200))}; it is written as the id of a channel of the trigger's account, or whole as agents are told a conversation`,
    { isFinal: true },
  );
}

/** Of a channel that is written without them. */
function ofAccount({ adapter, trigger }: Speaker, channel: string) {
  const { platform, account } = accountOf(adapter, trigger);
  return adapter.outbound?.destination?.(trigger, `${platform}/${account}/${channel.replace(/^#/, '')}`);
}

/** Of a channel that is written with its platform and account. */
function otherPlatform(trigger: Trigger, channel: string, places: ApprovalPlaces): Speaker | undefined {
  const adapter = places.adapterOf(channel.split('/')[0] ?? '');
  if (adapter?.outbound?.destination === undefined) return undefined;
  const isOfAccount = (each: Trigger) => {
    if (each.type !== adapter.type) return false;
    const { platform, account } = accountOf(adapter, each);
    return channel.startsWith(`${platform}/${account}/`);
  };
  const owner = [trigger, ...places.triggers()].find(isOfAccount);
  return owner && { adapter, trigger: owner };
}
