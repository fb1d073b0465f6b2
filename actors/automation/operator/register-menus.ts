// Puts the commands of triggers into the menus of their platforms, account by account, without a gateway: nothing is opened but the
// connection to the platform.
//
// RGM1  a menu is asked for as a whole: the triggers of an account are registered together, or not at all.
// RGM2  what one platform refuses holds up no other.
// RGM3  a platform that takes no more for now is waited for once, and not for long.

import { setTimeout as pause } from 'node:timers/promises';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { triggerTypes } from '../../../config/resources/triggers/trigger-types.ts';
import type { ConnectedAccount } from '../../events/outbox/connected-account.ts';
import { type Adapter, accountOf, type MenuByHand, type RegisterOptions } from '../../platforms/adapter.ts';

/** Those of one account. */
interface AccountMenu extends ConnectedAccount {
  /** Names. */
  readonly triggers: readonly string[];
}

export type MenuResult =
  /** With the names of the commands, as the menu has them. */
  | (AccountMenu & { readonly done: 'registered'; readonly commands: readonly string[] })
  /** No API sets it. */
  | (AccountMenu & { readonly done: 'by hand' } & MenuByHand)
  | (AccountMenu & { readonly done: 'refused'; readonly error: string });

export interface MenuAccounts {
  readonly accounts: readonly OfAccount[];
  /** Names of those whose platform has no menu, or with a guild none for guilds. */
  readonly without: readonly string[];
  /** Names of those whose files keep their commands out of the menu, or out of that of the guild. */
  readonly keptOut: readonly string[];
}

interface OfAccount extends ConnectedAccount {
  readonly adapter: Adapter;
  readonly triggers: readonly Trigger[];
}

const CALL_MS = 30_000;
const LONGEST_PAUSE_MS = 60_000;

/**
 * The accounts of the triggers that are switched on; with `names` those of these alone, each with all its triggers. With
 * `guild` those whose platform has guilds, and that are for this one.
 */
export function menuAccounts(
  triggers: readonly Trigger[],
  names: readonly string[],
  guild: string | undefined,
  adapterOf: (type: Trigger['type']) => Adapter,
): MenuAccounts {
  const accounts = new Map<string, OfAccount & { readonly triggers: Trigger[] }>();
  const without: string[] = [];
  const keptOut: string[] = [];
  const wanted = new Set<string>();
  for (const trigger of triggers.filter(({ enabled }) => enabled)) {
    const adapter = adapterOf(trigger.type);
    const isNamed = names.length === 0 || names.includes(trigger.name);
    const hasMenu =
      guild !== undefined
        ? triggerTypes[trigger.type].menu?.hasGuilds === true
        : (adapter.register ?? adapter.menuByHand) !== undefined;
    if (!hasMenu) {
      if (isNamed) without.push(trigger.name);
      continue;
    }
    if (adapter.isInMenu?.(trigger, guild) === false) {
      if (isNamed) keptOut.push(trigger.name);
      continue;
    }
    const account = accountOf(adapter, trigger);
    const key = `${account.platform}/${account.account}`;
    const known = accounts.get(key);
    if (known === undefined) accounts.set(key, { ...account, adapter, triggers: [trigger] });
    else known.triggers.push(trigger);
    if (isNamed) wanted.add(key);
  }
  const named = [...accounts].flatMap(([key, each]) => (wanted.has(key) ? [each] : []));
  return { accounts: named, without, keptOut };
}

/** Never rejects. */
export async function registerMenu(
  { adapter, triggers, platform, account }: OfAccount,
  guild: string | undefined,
  onPause: (ms: number) => void,
): Promise<MenuResult> {
  const menu = { platform, account, triggers: triggers.map(({ name }) => name) };
  const { register } = adapter;
  try {
    if (register === undefined) {
      const { where = '', text = '' } = adapter.menuByHand?.(triggers) ?? {};
      return { ...menu, done: 'by hand', where, text };
    }
    const ask = () => asked((options) => register.call(adapter, triggers, options), guild);
    const commands = await ask().catch(async (error: unknown) => {
      const pauseMs = pauseOf(error);
      if (pauseMs === undefined || pauseMs > LONGEST_PAUSE_MS) throw error;
      onPause(pauseMs);
      await pause(pauseMs);
      return ask();
    });
    return { ...menu, done: 'registered', commands };
  } catch (error) {
    return { ...menu, done: 'refused', error: told(error) };
  }
}

async function asked(
  register: (options: RegisterOptions) => Promise<readonly string[]>,
  guild: string | undefined,
): Promise<readonly string[]> {
  const signal = AbortSignal.timeout(CALL_MS);
  try {
    return await register({ guild, signal });
  } catch (error) {
    if (signal.aborted) throw new Error(`the platform has not answered within ${CALL_MS / 1000} s`);
    throw error;
  }
}

/** As the errors of sending and connecting have it. */
function pauseOf(error: unknown): number | undefined {
  const { retryAfterMs } = (error ?? {}) as { readonly retryAfterMs?: unknown };
  return typeof retryAfterMs === 'number' && retryAfterMs >= 0 ? retryAfterMs : undefined;
}

/** With the time that was asked for: whoever tries again should know it. */
function told(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const pauseMs = pauseOf(error);
  return pauseMs === undefined ? message : `${message}; try again in ${Math.ceil(pauseMs / 1000)} s`;
}
