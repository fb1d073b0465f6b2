// The parent actor of the active mailboxes of one work queue. It has no states, only children that come and go. A
// machine would copy the table of its children each time, which costs more than everything else about an event; so this
// is actor logic of its own, and changes the table in place.
//
// MA1  a child that ends or fails is dropped at once, and its mailbox told of a failure: that is where it stays (A6).
// MA2  at `shutdown` it ends, and its children with it.

import { type ActorLogic, type AnyActorRef, createActor, fromCallback, type Snapshot } from 'xstate';
import { type ConversationInput, conversationMachine } from '../../../machines/conversation.ts';
import { guarded } from '../../base/supervision/guarded.ts';
import type { Mailbox } from './mailbox.ts';

type MailboxesEvent =
  | { type: 'mailbox.open'; mailbox: Mailbox }
  | { type: 'shutdown' }
  | { type: 'xstate.stop' }
  | { type: `xstate.done.actor.${string}`; actorId: string }
  | { type: `xstate.error.actor.${string}`; actorId: string; error: unknown };

type MailboxesSnapshot = Snapshot<undefined> & {
  /** By the id of the actor; the inspector finds them here as it does in machines. */
  readonly children: Record<string, AnyActorRef>;
  readonly mailboxes: Map<string, Mailbox>;
};

const conversationLogic = guarded(
  conversationMachine.provide({
    actors: {
      run: fromCallback(({ input }) => {
        const mailbox = mailboxOf(input);
        mailbox.apply({ type: 'followed' });
        return () => mailbox.apply({ type: 'abandon' });
      }),
    },
    actions: {
      abort: ({ context }) => mailboxOf(context).abort(),
      yieldPlace: ({ context }) => mailboxOf(context).queue.yieldPlace(mailboxOf(context)),
      settle: ({ context }) => mailboxOf(context).apply({ type: 'settle' }),
    },
  }),
);

function mailboxOf({ bearer }: ConversationInput): Mailbox {
  return bearer as Mailbox;
}

/** An id is never used again, so that late news of an actor is never taken for that of its successor. */
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
      const input = { key: mailbox.key, bearer: mailbox };
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
      if ('error' in event) mailbox?.crashed(event.error);
    }
    return snapshot;
  },
};
