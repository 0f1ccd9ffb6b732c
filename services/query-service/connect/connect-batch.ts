import { connectTokenToWire } from '../../contract/connect.ts'
import { connectBatchImport, type ImportedTariff } from '../../contract/connect-batch.ts'
import { type ConnectDraft, knownAddress } from '../../contract/connect-draft.ts'
import type { RequestOf } from '../../contract/operation.ts'
import { type ConnectState, isComplete } from '../../domain/connect/session.ts'
import { termsOf } from '../../domain/connect/tariff-of.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { inTurns } from '../../platform/event-loop-turn.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { type StoredSession, updateSession } from '../../platform/postgres/connect-sessions.ts'
import { findProviders } from '../../platform/postgres/providers.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import { type Change, change } from '../change.ts'
import { bothDone, type ConnectDependencies } from './connect-dependencies.ts'
import { makeSession } from './connect-tokens.ts'
import { finish } from './finish-session.ts'
import { keepTariff } from './keep-tariff.ts'
import { chosenProvider, locationOf, openedState } from './open-session.ts'
import { lacksState, stateMissing } from './place-address.ts'

type Request = RequestOf<typeof connectBatchImport>

/** Say what an import says in the words of a session, as if a person had captured it. */
const stateOf = (opened: ConnectState, { type, name, contract, data }: ImportedTariff): ConnectState => {
  const [start, end] = [contract?.start_date?.at ?? null, contract?.end_date?.at ?? null]
  return {
    ...opened,
    source: 'captured',
    structure: 'ADVANCED',
    advanced: { marketRates: type === 'MARKET', schedule: data },
    name: name ?? null,
    term: { start, end, type: end === null ? 'UNTIL_TERMINATED' : 'FIXED' },
  }
}

const incomplete = refused(
  'field_required',
  'postal_address is required whole, unless the location exists: address_line1, city, post_code and country_code',
  'postal_address',
)

const judgeImport = async (session: StoredSession, hasLocation: boolean): Promise<Result<null>> => {
  const { state, config } = session
  if (!hasLocation && !isComplete(state.address)) return incomplete
  if (!hasLocation && !state.isPlaced) {
    if (lacksState(state.address)) return stateMissing('postal_address.state')
    return refused('geo_location_not_found', 'This address cannot be placed; check the city and the post code', 'postal_address.city')
  }
  const contract = { start: state.term?.start ?? null, end: state.term?.end ?? null }
  const terms = await inTurns(termsOf(config, state, contract), session.accountId)
  if (terms.ok) return accepted(null)
  const { field } = terms.refusal
  return {
    ok: false,
    refusal: { ...terms.refusal, ...(field === undefined ? {} : { field: `tariff.${field.replace(/^schedule/, 'data')}` }) },
  }
}

const withProvider = async (
  transaction: TenantTransaction,
  session: StoredSession,
  providerId: string | undefined,
): Promise<Result<StoredSession>> => {
  if (providerId === undefined) return accepted(session)
  const [provider] = await findProviders(transaction.query, [providerId])
  if (provider === undefined) return refused('provider_not_found', 'No provider has this id', 'tariff.provider_id')
  return accepted({ ...session, state: { ...session.state, provider: await chosenProvider(transaction, provider, session) } })
}

const importOne = async (
  dependencies: ConnectDependencies,
  transaction: TenantTransaction,
  { body, caller, at }: Request,
): Promise<Result<Change<ReturnType<typeof connectTokenToWire>>>> => {
  const { session: asked, postal_address: address, tariff } = body
  const draft: ConnectDraft = address === undefined ? asked : { ...asked, address: knownAddress(address) }
  const made = await makeSession(dependencies, transaction, draft, { layout: 'earlier', keyId: caller.keyId, at })
  if (!made.ok) return made
  const location = await locationOf(transaction, made.value.session)
  const opened = await openedState(dependencies, transaction, made.value.session, location, { edits: false, at })
  const chosen = await withProvider(transaction, { ...made.value.session, state: stateOf(opened, tariff) }, tariff.provider_id)
  if (!chosen.ok) return chosen
  const judged = await judgeImport(chosen.value, location !== null)
  if (!judged.ok) return judged
  const kept = await keepTariff(dependencies, transaction, chosen.value, at)
  if (!kept.ok) return kept
  const finished = await finish(dependencies, transaction, kept.value.value, at)
  const session: StoredSession = { ...finished.value, state: { ...finished.value.state, page: 'end' } }
  await updateSession(transaction, session)
  const { events, audit, orders } = bothDone(kept.value.deeds, finished.deeds)
  return accepted({ value: connectTokenToWire({ ...session, token: made.value.token, isPriced: true }), events, audit, orders })
}

/** Bind the import of tariffs without pages. Source: docs/rules/connect.md #import-without-pages. */
export const importTariff = (dependencies: ConnectDependencies): Binding =>
  bind(connectBatchImport, request =>
    change(dependencies, connectBatchImport, request, transaction => importOne(dependencies, transaction, request)),
  )
