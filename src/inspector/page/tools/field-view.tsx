// One argument in the form: its name as the label, what the schema says of it, and what is wrong with what was given.

import { visible, visibleName } from '../visible-text.ts';
import { type Draft, type Drafts, type Field, type GroupField, keyOf, type LeafField } from './fields.ts';

const MAX_NAME = 100;

interface FieldViewProps {
  /** Of the element; made of places, since names are strangers'. */
  readonly id: string;
  readonly field: Field;
  readonly drafts: Drafts;
  readonly problems: ReadonlyMap<string, string>;
  give(key: string, draft: Draft): void;
}

export function FieldView({ field, ...props }: FieldViewProps) {
  return field.kind === 'group' ? <Group field={field} {...props} /> : <Leaf field={field} {...props} />;
}

function Group({ field, id, problems, ...props }: FieldViewProps & { readonly field: GroupField }) {
  const problem = problems.get(keyOf(field.path));
  return (
    <fieldset class="field" aria-describedby={describedBy(id, field, problem)}>
      <legend>{visibleName(field.name, MAX_NAME)}</legend>
      <Words id={id} field={field} problem={problem} />
      {field.fields.map((inner, at) => (
        <FieldView key={inner.name} id={`${id}-${at}`} field={inner} problems={problems} {...props} />
      ))}
    </fieldset>
  );
}

interface LeafProps extends Omit<FieldViewProps, 'field'> {
  readonly field: LeafField;
}

function Leaf({ field, id, drafts, problems, give }: LeafProps) {
  const key = keyOf(field.path);
  const problem = problems.get(key);
  const draft = drafts.get(key) ?? field.given;
  return (
    <div class="field">
      <span class="head">
        <label for={id}>{visibleName(field.name, MAX_NAME)}</label>
        {field.isRequired && <span class="aside">required</span>}
      </span>
      <Input id={id} field={field} draft={draft} problem={problem} give={(given) => give(key, given)} />
      <Words id={id} field={field} problem={problem} />
    </div>
  );
}

interface InputProps {
  readonly id: string;
  readonly field: LeafField;
  readonly draft: Draft | undefined;
  readonly problem: string | undefined;
  give(draft: Draft): void;
}

function Input({ id, field, draft, problem, give }: InputProps) {
  const common = {
    id,
    'aria-required': field.isRequired,
    'aria-invalid': problem !== undefined,
    'aria-describedby': describedBy(id, field, problem),
  };
  const text = draft === undefined ? '' : String(draft);
  switch (field.kind) {
    case 'flag':
      return (
        <span class="flag">
          <input
            type="checkbox"
            id={id}
            aria-invalid={problem !== undefined}
            aria-describedby={describedBy(id, field, problem)}
            checked={draft === true}
            onChange={(event) => give(event.currentTarget.checked)}
          />
          <span class="aside">
            {draft === undefined && !field.isRequired ? 'left out' : String(draft === true)}
          </span>
        </span>
      );
    case 'choice':
      return (
        <select {...common} value={text} onChange={(event) => give(event.currentTarget.value)}>
          <option value="">{field.isRequired ? 'choose' : 'left out'}</option>
          {field.choices.map(({ label }, at) => (
            <option key={at} value={String(at)}>
              {visibleName(label)}
            </option>
          ))}
        </select>
      );
    case 'number':
      return (
        <input
          {...common}
          type="text"
          inputMode={field.isWhole ? 'numeric' : 'decimal'}
          autocomplete="off"
          value={text}
          onInput={(event) => give(event.currentTarget.value)}
        />
      );
    default:
      return (
        <textarea
          {...common}
          rows={field.kind === 'text' ? 1 : 3}
          spellcheck={false}
          value={text}
          onInput={(event) => give(event.currentTarget.value)}
        />
      );
  }
}

interface WordsProps {
  readonly id: string;
  readonly field: Field;
  readonly problem: string | undefined;
}

/** What stands below a field. */
function Words({ id, field, problem }: WordsProps) {
  const hints = hintsOf(field);
  return (
    <>
      {problem !== undefined && (
        <p class="problem" id={`${id}-problem`}>
          <bdi>{visibleName(field.name, MAX_NAME)}</bdi> {visible(problem)}
        </p>
      )}
      {(field.description !== '' || hints !== '') && (
        <p class="aside said" id={`${id}-words`}>
          <bdi>{visible(field.description)}</bdi>
          {hints !== '' && <bdi class="hints">{visible(hints)}</bdi>}
        </p>
      )}
    </>
  );
}

function hintsOf(field: Field): string {
  const kind = field.kind === 'lines' ? ['one a line'] : field.kind === 'json' ? ['as JSON'] : [];
  return [...kind, ...field.hints].join(', ');
}

function describedBy(id: string, field: Field, problem: string | undefined): string | undefined {
  const hasWords = field.description !== '' || hintsOf(field) !== '';
  const ids = [...(problem === undefined ? [] : [`${id}-problem`]), ...(hasWords ? [`${id}-words`] : [])];
  return ids.length === 0 ? undefined : ids.join(' ');
}
