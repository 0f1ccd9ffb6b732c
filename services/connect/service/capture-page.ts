import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { Location } from '../../domain/registry/location.ts'
import { nextSlice } from '../../platform/concurrency/time-slices.ts'
import { findLibraryTariff } from '../../platform/postgres/pricing/library-tariffs.ts'
import { findProviders, serves } from '../../platform/postgres/registry/providers.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import { readAdvancedTariff } from '../contract/advanced-page.ts'
import { tariffTermsOf } from '../contract/captured-tariff.ts'
import type { ConnectCall } from '../contract/connect-call.ts'
import {
  type PageData,
  readAddress,
  readCost,
  readHours,
  readId,
  readName,
  readRegion,
  readStructure,
  readSurcharge,
  readTerm,
} from '../contract/read-page.ts'
import { readStandingCharge } from '../contract/standing-charge.ts'
import type { ConnectPageName } from '../domain/page.ts'
import type { PageSubmission } from '../domain/page-submission.ts'
import { asksStandingCharge } from '../domain/standing-charge.ts'
import type { StoredSession } from '../postgres/connect-sessions.ts'
import type { ConnectDependencies } from './connect-dependencies.ts'
import { geocodeAddress } from './geocode-address.ts'
import { chosenProvider, libraryTariffsOf } from './open-session.ts'

type CaptureInput = {
  readonly dependencies: ConnectDependencies
  readonly transaction: TenantTransaction
  readonly session: StoredSession
  readonly location: Location | null
  /** Posted data; empty if no data was posted. */
  readonly data: PageData
  /** True if no data was posted. This skips a page that may be skipped. */
  readonly isSkipped: boolean
}

/** Convert a value that was read to the submission of a page. */
const captureOf = <T>(read: Result<T>, toCapture: (value: T) => PageSubmission): Result<PageSubmission> =>
  read.ok ? accepted(toCapture(read.value)) : read

const captureAddress = async ({
  dependencies,
  session,
  location,
  data,
}: CaptureInput): Promise<Result<PageSubmission>> => {
  const address = readAddress(data, session.state.address)
  if (!address.ok) return address
  const geocoded = await geocodeAddress(dependencies, session.config, address.value, location)
  return geocoded.ok ? accepted({ page: 'address', address: address.value, ...geocoded.value }) : geocoded
}

const captureProvider = async ({ transaction, session, data }: CaptureInput): Promise<Result<PageSubmission>> => {
  const id = readId(data, 'provider', 'provider_id_missing')
  if (!id.ok) return id
  const [provider] = await findProviders(transaction.query, [id.value])
  if (provider === undefined)
    return refused('provider_not_found', 'No provider has this id. Choose a provider from the list', 'data.provider.id')
  if (!serves(provider, session.state.address.country_code ?? '', session.request.addressType)) {
    return refused(
      'provider_id_invalid',
      'This provider does not serve this address. Choose a provider from the list',
      'data.provider.id',
    )
  }
  return accepted({ page: 'provider', provider: await chosenProvider(transaction, provider, session) })
}

const captureLibrary = async ({ transaction, session, data }: CaptureInput): Promise<Result<PageSubmission>> => {
  const id = readId(data, 'tariff', 'tariff_id_missing')
  if (!id.ok) return id
  const tariff = await findLibraryTariff(transaction.query, id.value)
  if (tariff === null)
    return refused('tariff_not_found', 'No tariff has this id. Choose a tariff from the list', 'data.tariff.id')
  const offered = await libraryTariffsOf(transaction, session, session.state.provider?.id ?? null)
  return offered.some(libraryTariff => libraryTariff.id === tariff.id)
    ? accepted({ page: 'library', tariffId: tariff.id, name: tariff.name })
    : refused(
        'tariff_id_invalid',
        'This tariff is not offered at this address. Choose a tariff from the list',
        'data.tariff.id',
      )
}

/** Read an advanced tariff. The page accepts the same body as POST /tariffs and validates it by the same rules. */
const captureAdvanced = async ({ session, data }: CaptureInput): Promise<Result<PageSubmission>> => {
  const read = readAdvancedTariff(data)
  if (!read.ok) return read
  const { marketRates, schedule, term } = read.value
  const state = { ...session.state, structure: 'ADVANCED' as const, advanced: { marketRates, schedule } }
  await nextSlice(session.accountId)
  const terms = tariffTermsOf(session.config, state, term)
  if (!terms.ok) {
    const { field } = terms.refusal
    return {
      ok: false,
      refusal: { ...terms.refusal, ...(field === undefined ? {} : { field: `data.tariff.${field}` }) },
    }
  }
  return accepted({ page: 'advanced', advanced: { marketRates, schedule }, term })
}

const captureSurcharge = ({ data }: CaptureInput): Result<PageSubmission> => {
  const surcharge = readSurcharge(data)
  if (!surcharge.ok) return surcharge
  const base = { page: 'surcharge', surcharge: surcharge.value } as const
  return data['region'] === undefined ? accepted(base) : captureOf(readRegion(data), region => ({ ...base, region }))
}

/** Read the name of a tariff. It is required only if the session captures names. */
const captureName = ({ session, data, isSkipped }: CaptureInput): Result<PageSubmission> =>
  isSkipped && !session.config.capturesName
    ? accepted({ page: 'name', name: null })
    : captureOf(readName(data, 'tariff', 'tariff_name_missing'), name => ({ page: 'name', name }))

const actionMissing = refused('action_missing', 'The action is missing. Send one of the actions of this page', 'action')

/** Pages with prices, on which people can enter a standing charge. */
const pagesWithPrices: readonly ConnectPageName[] = ['fixed', 'time_of_day', 'advanced', 'surcharge']

/**
 * Read the data that was posted for a page, with its standing charge. Refuses with the error codes of the page.
 * Source: docs/rules/connect.md #pages, #standing-charge.
 */
export const capturePage = async (page: ConnectPageName, capture: CaptureInput): Promise<Result<PageSubmission>> => {
  const submission = await readPage(page, capture)
  const { config, state } = capture.session
  if (!submission.ok || !pagesWithPrices.includes(page) || !asksStandingCharge(config)) return submission
  const charge = readStandingCharge(capture.data, state.address.country_code)
  if (!charge.ok) return charge
  return charge.value === undefined ? submission : accepted({ ...submission.value, standingCharge: charge.value })
}

/**
 * Read the data that was posted for a page and look up the objects that it names. Refuses with the error codes of the
 * page.
 */
const readPage = async (page: ConnectPageName, capture: CaptureInput): Promise<Result<PageSubmission>> => {
  const { data, isSkipped } = capture
  switch (page) {
    case 'address':
      return captureAddress(capture)
    case 'provider':
      return captureProvider(capture)
    case 'provider_name':
      return captureOf(readName(data, 'provider', 'provider_name_missing'), name => ({
        page: 'provider_name',
        provider: { id: null, displayName: name, logoUrl: null, loginUrl: null, hasLibrary: false },
      }))
    case 'library':
      return captureLibrary(capture)
    case 'structure':
      return captureOf(readStructure(data), structure => ({ page: 'structure', structure }))
    case 'fixed':
      return captureOf(readCost(data), cost => ({ page: 'fixed', cost }))
    case 'time_of_day':
      return captureOf(readHours(data), hours => ({ page: 'time_of_day', hours }))
    case 'advanced':
      return captureAdvanced(capture)
    case 'region':
      return captureOf(readRegion(data), region => ({ page: 'region', region }))
    case 'surcharge':
      return captureSurcharge(capture)
    case 'name':
      return captureName(capture)
    case 'term':
      return isSkipped
        ? accepted({ page: 'term', term: null })
        : captureOf(readTerm(data), term => ({ page: 'term', term }))
    default:
      return actionMissing
  }
}

/** Return the posted data of a call. */
export const postedDataOf = ({ data }: ConnectCall): Pick<CaptureInput, 'data' | 'isSkipped'> => ({
  data: data ?? {},
  isSkipped: data === null,
})
