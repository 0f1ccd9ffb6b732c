import { defaultComponents, defaultSequences, type FixedCharge, type StoredCharge } from '../../domain/charge/charge.ts'
import type { ChargeDays } from '../../domain/charge/charge-days.ts'
import { formatDecimal, moneyScale, readDecimal } from '../../domain/quantity.ts'
import { accepted, type Result } from '../../domain/refusal.ts'
import type { StoredTariff } from '../../domain/tariff/stored-tariff.ts'
import { createCharge, deleteCharge } from '../../platform/postgres/pricing/charges.ts'
import { linkCharge, linkedCharges } from '../../platform/postgres/pricing/tariff-charges.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import { chargeChange } from '../../query-service/charges/charges.ts'
import { chargeDaysOfTariff } from '../../query-service/charges/tariff-charges.ts'
import { asksStandingCharge, type StandingCharge } from '../domain/standing-charge.ts'
import type { StoredSession } from '../postgres/connect-sessions.ts'
import type { ConnectTransaction } from './connect-dependencies.ts'

const one = 1_000_000_000n
const amountRule = { scale: moneyScale, min: 0n, max: 10n ** 15n }

const priceOf = ({ amount }: StandingCharge): bigint => {
  const read = readDecimal(amount, amountRule, 'amount')
  if (!read.ok) throw new RangeError(`A standing charge of ${amount} was never read.`)
  return read.value
}

/** Return the terms of a standing charge on some days. */
const termsOf = (charge: StandingCharge, days: ChargeDays): Omit<FixedCharge, 'id' | 'planId'> => ({
  kind: 'FIXED',
  name: 'Standing charge',
  component: defaultComponents.FIXED,
  sequence: defaultSequences.FIXED,
  price: priceOf(charge),
  per: charge.per,
  quantity: one,
  unit: null,
  prorate: 'DAYS',
  ...days,
})

/** Return the standing charge of a session; null if it captured none. */
const desiredStandingCharge = ({ config, state }: StoredSession): StandingCharge | null =>
  asksStandingCharge(config) && state.source === 'captured' ? (state.standingCharge ?? null) : null

const isSame = ({ terms }: StoredCharge, wanted: StandingCharge): boolean =>
  terms.kind === 'FIXED' && terms.per === wanted.per && terms.price === priceOf(wanted)

const addChange = async ({ effects }: ConnectTransaction, charge: StoredCharge, type: string): Promise<void> => {
  const { events, audit = [] } = chargeChange(charge, type)
  effects.events.push(...events)
  effects.audit.push(...audit)
}

/**
 * Save the standing charge of a session together with its tariff. Another amount replaces the charge before; no amount
 * removes it. Refuses what creating a charge refuses.
 * Source: docs/rules/connect.md #standing-charge.
 */
export const saveStandingCharge = async (
  transaction: ConnectTransaction,
  session: StoredSession,
  tariff: Pick<StoredTariff, 'id' | 'timezone' | 'locationId'>,
): Promise<Result<null>> => {
  const { at, dependencies } = transaction
  const wanted = desiredStandingCharge(session)
  const { applied } = await linkedCharges(transaction, tariff.id)
  if (wanted !== null && applied.some(charge => isSame(charge, wanted))) return accepted(null)
  for (const charge of applied) {
    const deleted = await deleteCharge(transaction, charge.id, at)
    if (!deleted.ok) return deleted
    await addChange(transaction, deleted.value, 'charge.delete')
  }
  const days = wanted === null ? null : await chargeDaysOfTariff(dependencies, transaction, tariff)
  if (wanted === null || days === null) return accepted(null)
  const draft = { locationId: tariff.locationId, planId: null, planVersion: null, terms: termsOf(wanted, days) }
  const created = await createCharge(transaction, draft, at)
  if (!created.ok) return created
  await linkCharge(transaction, created.value.id, tariff.id)
  await addChange(transaction, created.value, 'charge.create')
  return accepted(null)
}

/** Return the standing charge that follows a tariff; null if there is none. */
export const standingChargeOf = async (
  transaction: TenantTransaction,
  tariffId: string,
): Promise<StandingCharge | null> => {
  const { applied } = await linkedCharges(transaction, tariffId)
  const terms = applied.map(charge => charge.terms).find(charge => charge.kind === 'FIXED')
  return terms === undefined ? null : { amount: formatDecimal(terms.price, moneyScale), per: terms.per }
}
