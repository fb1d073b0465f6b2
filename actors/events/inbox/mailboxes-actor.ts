// Parent actor of the mailbox actors; several work queues can share it. It has no states, only children. A
// machine would copy the child table on each change, which costs more than the rest of the event handling;
// this actor logic updates the table in place. A child that stops or fails is removed immediately, and
// affects only its own mailbox (A6, ARCHITECTURE.md).

import { type ActorLogic, type AnyActorRef, createActor, fromCallback, type Snapshot } from 'xstate';
import { type ConversationInput, conversationMachine } from '../../../machines/conversation.ts';
import { stopChildrenOnThrow } from '../../base/supervision/stop-children-on-throw.ts';
import type { Mailbox } from './mailbox.ts';

type MailboxesEvent =
  | { type: 'mailbox.open'; mailbox: Mailbox }
  | { type: 'shutdown' }
  | { type: 'xstate.stop' }
  | { type: `xstate.done.actor.${string}`; actorId: string }
  | { type: `xstate.error.actor.${string}`; actorId: string; error: unknown };

type MailboxesSnapshot = Snapshot<undefined> & {
  /** Children by actor id, in the shape of a machine's snapshot, for the inspector. */
  readonly children: Record<string, AnyActorRef>;
  readonly mailboxes: Map<string, Mailbox>;
};

const conversationLogic = stopChildrenOnThrow(
  conversationMachine.provide({
    actors: {
      // The machine starts this actor to follow a long or aborted run, and stops it at the end of the run.
      run: fromCallback(({ input }) => {
        const mailbox = mailboxOf(input);
        mailbox.apply({ type: 'followed' });
        return () => mailbox.apply({ type: 'abandon' });
      }),
    },
    actions: {
      abort: ({ context }) => mailboxOf(context).abort(),
      yieldSlot: ({ context }) => mailboxOf(context).queue.yieldSlot(mailboxOf(context)),
      settle: ({ context }) => mailboxOf(context).apply({ type: 'settle' }),
    },
  }),
);

function mailboxOf({ actorContext }: ConversationInput): Mailbox {
  return actorContext as Mailbox;
}

/** Makes actor ids unique: an event for a stopped actor never reaches a later actor of the key. */
let count = 0;

export const mailboxesLogic: ActorLogic<MailboxesSnapshot, MailboxesEvent> = {
  getInitialSnapshot: () => ({
    status: 'active',
    output: undefined,
    error: undefined,
    children: {},
    mailboxes: new Map(),
  }),
  getPersistedSnapshot: ({ status, output, error }) => ({ status, output, error }) as Snapshot<unknown>,
  transition: (snapshot, event, scope) => {
    const { children, mailboxes } = snapshot;
    if (event.type === 'mailbox.open') {
      const { mailbox } = event;
      const id = `${mailbox.key}#${++count}`;
      const input = { key: mailbox.key, actorContext: mailbox };
      const ref = createActor(conversationLogic, { id, input, parent: scope.self });
      children[id] = ref;
      mailboxes.set(id, mailbox);
      mailbox.ref = ref;
      ref.start();
    } else if (event.type === 'shutdown' || event.type === 'xstate.stop') {
      for (const child of Object.values(children)) scope.stopChild(child);
      const status = event.type === 'shutdown' ? 'done' : 'stopped';
      return { ...snapshot, status, children: {}, mailboxes: new Map() } as MailboxesSnapshot;
    } else if ('actorId' in event) {
      const mailbox = mailboxes.get(event.actorId);
      delete children[event.actorId];
      mailboxes.delete(event.actorId);
      if ('error' in event) mailbox?.onActorFailed(event.error);
    }
    return snapshot;
  },
};
