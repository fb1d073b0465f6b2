// A change of a catalog on the disk. What comes of it is read as the gateway would read it, and replaces the file only where that finds
// no error; then the secrets are in `.env` already.

import type { Catalog } from '../../../config/catalog/catalog-schema.ts';
import { checkCatalog } from '../../../config/catalog/check-catalog.ts';
import { type CatalogEdit, editCatalog, serverNames } from '../../../config/catalog/edit-catalog.ts';
import { plainId } from '../../../config/catalog/read-catalog.ts';
import { ConfigError, hasError } from '../../../config/reader/problem.ts';
import { SourceFile } from '../../../config/reader/source-file.ts';
import { ApiProblem } from '../api/api-client.ts';
import { hintFor } from '../api/unknown-name.ts';
import type { CatalogPlace } from './catalog-place.ts';
import { EnvDraft } from './env-draft.ts';
import { ChangedMeanwhile, readWhole, replaceText } from './replace-text.ts';

const SECRET_MODE = 0o600;
/** How often a change is thought out anew because others change the same file. */
const MOST_TRIES = 10;

export class CatalogFile {
  readonly place: CatalogPlace;
  /** Values that are to stand in `.env`. */
  readonly draft: EnvDraft;
  #text: string;

  private constructor(place: CatalogPlace, text: string, draft: EnvDraft) {
    this.place = place;
    this.draft = draft;
    this.#text = text;
  }

  /** Throws ApiProblem for a file that cannot be read. One that is not there is an empty one. */
  static async open(place: CatalogPlace): Promise<CatalogFile> {
    const [text, env] = await Promise.all([readWhole(place.catalogPath), readWhole(place.envPath)]);
    return new CatalogFile(place, text, new EnvDraft(env, place.environment));
  }

  get names(): readonly string[] {
    return serverNames(this.#text, this.place.catalogPath);
  }

  /** The name that the file has for a server, which in a client's file may be none of our ids. Throws ApiProblem where there is none. */
  nameOf(id: string): string {
    const name = this.names.find((each) => each === id) ?? this.names.find((each) => plainId(each) === id);
    if (name !== undefined) return name;
    const hint = hintFor(id, this.names);
    throw new ApiProblem(`${this.place.catalogPath} has no server ${JSON.stringify(id)}; ${hint}`, false);
  }

  /** Throws ApiProblem where the server is there already. */
  refuseTaken(name: string, isReplacing: boolean): void {
    if (isReplacing || !this.names.includes(name)) return;
    const { catalogPath } = this.place;
    throw new ApiProblem(
      `${catalogPath} has a server ${name} already; --force replaces it, or take another name`,
      false,
    );
  }

  /** Whether there was anything to change. Throws ApiProblem and ConfigError, and then nothing was. */
  async change(edit: CatalogEdit): Promise<boolean> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#changeOnce(edit);
      } catch (error) {
        if (!(error instanceof ChangedMeanwhile) || tries === MOST_TRIES) throw error;
        this.#text = await readWhole(this.place.catalogPath);
        if (!this.draft.canFollow(await readWhole(this.place.envPath))) throw error;
      }
    }
  }

  async #changeOnce(edit: CatalogEdit): Promise<boolean> {
    const { catalogPath, envPath } = this.place;
    const edited = editCatalog(this.#text, edit, catalogPath);
    if (typeof edited !== 'string') throw new ApiProblem(`${catalogPath}: ${edited.refusal}`, false);
    const { problems, catalog } = checkCatalog(new SourceFile(catalogPath, edited), this.draft.environment);
    if (hasError(problems)) throw new ConfigError(problems);
    if (edit.do === 'switch') this.#refuseElsewhere(edit, catalog);
    const { before, text } = this.draft;
    if (text !== before) await replaceText(envPath, before, text, SECRET_MODE);
    if (edited === this.#text) return false;
    await replaceText(catalogPath, this.#text, edited);
    return true;
  }

  /** Some clients have a list of servers that are off beside the servers, and it is stronger. */
  #refuseElsewhere({ name, isEnabled }: Extract<CatalogEdit, { do: 'switch' }>, { servers }: Catalog): void {
    const read = servers[name] ?? servers[plainId(name)];
    if (read === undefined || read.enabled === isEnabled) return;
    const lists = 'mcp.excluded, mcp.allowed, excludeMCPServers or allowMCPServers';
    throw new ApiProblem(
      `${this.place.catalogPath} says beside its servers which are off; change that by hand: ${lists}`,
      false,
    );
  }
}
