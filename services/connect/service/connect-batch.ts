import type { RequestOf } from '../../contract/operation.ts'
import { noNamedObject } from '../../domain/no-object.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { findProviders } from '../../platform/postgres/registry/providers.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import { type Change, change } from '../../query-service/change.ts'
import { tariffTermsOf } from '../contract/captured-tariff.ts'
import { connectBatchImport, type ImportedTariff } from '../contract/connect-batch.ts'
import { type ConnectDraft, knownAddress } from '../contract/connect-draft.ts'
import { connectTokenToWire } from '../contract/connect-session.ts'
import { type ConnectState, isCompleteAddress } from '../domain/session.ts'
import { type StoredSession, updateConnectSession } from '../postgres/connect-sessions.ts'
import { type ConnectDependencies, connectTransaction, eventsOf, sessionNote } from './connect-dependencies.ts'
import { makeSession } from './connect-tokens.ts'
import { finishSession, isSessionPriced } from './finish-session.ts'
import { lacksState, stateMissing } from './geocode-address.ts'
import { chosenProvider, initialState, locationOf } from './open-session.ts'
import { saveTariff } from './save-tariff.ts'

type Request = RequestOf<typeof connectBatchImport>

/** Convert an imported tariff to the state of a session, as if a person had entered the tariff. */
const stateOf = (initial: ConnectState, { type, name, contract, data }: ImportedTariff): ConnectState => {
  const [start, end] = [contract?.start_date?.at ?? null, contract?.end_date?.at ?? null]
  return {
    ...initial,
    source: 'captured',
    structure: 'ADVANCED',
    advanced: { marketRates: type === 'MARKET', schedule: data },
    name: name ?? null,
    term: { start, end, type: end === null ? 'UNTIL_TERMINATED' : 'FIXED' },
  }
}

const incompleteAddress = refused(
  'field_required',
  'postal_address is incomplete. Send address_line1, city, post_code and country_code, or name an existing location',
  'postal_address',
)

const validateImport = (session: StoredSession, hasLocation: boolean): Result<null> => {
  const { state, config } = session
  if (!hasLocation && !isCompleteAddress(state.address)) return incompleteAddress
  if (!hasLocation && !state.isPlaced) {
    if (lacksState(state.address)) return stateMissing('postal_address.state')
    return refused(
      'geo_location_not_found',
      'This address was not found. Check the city and the post code',
      'postal_address.city',
    )
  }
  const contract = { start: state.term?.start ?? null, end: state.term?.end ?? null }
  const terms = tariffTermsOf(config, state, contract)
  if (terms.ok) return accepted(null)
  const { field } = terms.refusal
  return {
    ok: false,
    refusal: {
      ...terms.refusal,
      ...(field === undefined ? {} : { field: `tariff.${field.replace(/^schedule/, 'data')}` }),
    },
  }
}

const withProvider = async (
  transaction: TenantTransaction,
  session: StoredSession,
  providerId: string | undefined,
): Promise<Result<StoredSession>> => {
  if (providerId === undefined) return accepted(session)
  const [provider] = await findProviders(transaction.query, [providerId])
  if (provider === undefined) return noNamedObject('provider', 'tariff.provider_id')
  return accepted({
    ...session,
    state: { ...session.state, provider: await chosenProvider(transaction, provider, session) },
  })
}

const importTariffInto = async (
  dependencies: ConnectDependencies,
  tenantTransaction: TenantTransaction,
  { body, caller, at }: Request,
): Promise<Result<Change<ReturnType<typeof connectTokenToWire>>>> => {
  const transaction = connectTransaction(tenantTransaction, dependencies, at)
  const { session: sessionDraft, postal_address: address, tariff } = body
  const draft: ConnectDraft = address === undefined ? sessionDraft : { ...sessionDraft, address: knownAddress(address) }
  const created = await makeSession(dependencies, transaction, draft, {
    apiVersion: 'earlier',
    keyId: caller.keyId,
    at,
  })
  if (!created.ok) return created
  const location = await locationOf(transaction, created.value.session)
  const initial = await initialState(transaction, created.value.session, location, false)
  const withChosenProvider = await withProvider(
    transaction,
    { ...created.value.session, state: stateOf(initial, tariff) },
    tariff.provider_id,
  )
  if (!withChosenProvider.ok) return withChosenProvider
  const validation = validateImport(withChosenProvider.value, location !== null)
  if (!validation.ok) return validation
  const saved = await saveTariff(transaction, withChosenProvider.value)
  if (!saved.ok) return saved
  const finished = await finishSession(transaction, saved.value)
  const session: StoredSession = { ...finished, state: { ...finished.state, page: 'end' } }
  await updateConnectSession(transaction, session)
  const hasPrice = await isSessionPriced(dependencies, transaction, session, at)
  return accepted({
    ...transaction.effects,
    audit: [sessionNote(connectBatchImport, session), ...transaction.effects.audit],
    value: connectTokenToWire({ ...session, token: created.value.token, isPriced: hasPrice }),
    events: eventsOf(transaction),
  })
}

/** Bind the import of tariffs without pages. Source: docs/rules/connect.md #import-without-pages. */
export const importTariff = (dependencies: ConnectDependencies): Binding =>
  bind(connectBatchImport, request =>
    change(dependencies, connectBatchImport, request, transaction =>
      importTariffInto(dependencies, transaction, request),
    ),
  )
