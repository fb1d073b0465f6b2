// How answers go out: where to, in what form, and the calls that send them.

import type { ChatWorkspaceTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { Outbound, Receipt, SendContext } from '../../outbound/outbound.ts';
import type { OutboundTarget } from '../../outbound/outbound-message.ts';
import type { Pacing } from '../../outbound/pacing.ts';
import type { InboundEvent } from '../adapter.ts';
import { textMember } from '../payload-member.ts';
import type { WorkspaceApi } from './chatworkspace-api.ts';
import { deliveryErrorOf } from './chatworkspace-errors.ts';
import { placeOf } from './chatworkspace-event.ts';
import { type WorkspaceCall, workspaceCalls } from './workspace-message.ts';

export interface WorkspaceDirectory {
  apiOf(trigger: ChatWorkspaceTrigger): WorkspaceApi;
  /** The app. */
  accountOf(trigger: ChatWorkspaceTrigger): string;
  readonly pacing: Pacing;
}

export function workspaceOutbound(
  directory: WorkspaceDirectory,
): Outbound<ChatWorkspaceTrigger, WorkspaceCall> {
  return {
    target: targetOf,
    render: (_trigger, message) => workspaceCalls(message),
    mentions: 'rendered',
    sendsTo: ({ config }) => config.api_root,
    send: (trigger, call, context) => send(directory, trigger, call, context),
  };
}

/** Into the thread of what it answers, which a message in a channel begins. */
function targetOf(_trigger: ChatWorkspaceTrigger, { payload }: InboundEvent): OutboundTarget | undefined {
  const said = placeOf(payload);
  return said === undefined ? undefined : { place: said.channel, thread: said.answerThread };
}

async function send(
  { apiOf, accountOf, pacing }: WorkspaceDirectory,
  trigger: ChatWorkspaceTrigger,
  { method, parameters }: WorkspaceCall,
  { signal }: SendContext,
): Promise<Receipt> {
  const place = String(parameters.channel);
  const turn = { account: accountOf(trigger), place, isOfPlace: () => true };
  return pacing.run(turn, async () => {
    try {
      const said = await apiOf(trigger).call(method, parameters, { signal });
      return { id: textMember(said, 'ts') ?? '' };
    } catch (error) {
      throw deliveryErrorOf(error, `a message to ${place}`);
    }
  });
}
