import type { StoredCharge } from '../../domain/charge/charge.ts'
import { type ChargeDays, chargeDaysOf } from '../../domain/charge/charge-days.ts'
import type { StoredTariff } from '../../domain/tariff/stored-tariff.ts'
import { linkedCharges, tariffInterval, writeChargeDays } from '../../platform/postgres/pricing/tariff-charges.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import type { Change } from '../change.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import { chargeChange } from './charges.ts'

type Described = Required<Pick<Change<unknown>, 'events' | 'audit'>>

const describe = async (charge: StoredCharge, type: string): Promise<Described> => {
  const { events, audit = [] } = chargeChange(charge, type)
  return { events, audit }
}

/** Return the days of a tariff's charges; null if the tariff was voided or no day begins in it. */
export const chargeDaysOfTariff = async (
  { timeZone }: Pick<QueryServiceDependencies, 'timeZone'>,
  transaction: TenantTransaction,
  { id, timezone }: Pick<StoredTariff, 'id' | 'timezone'>,
): Promise<ChargeDays | null> => {
  const zone = timeZone(timezone)
  if (zone === null) throw new RangeError(`Tariff ${id} has the unknown time zone ${timezone}.`)
  const interval = await tariffInterval(transaction, id)
  return interval === null ? null : chargeDaysOf(zone, interval)
}

/** Change the days of a charge to those of its tariff. Null if nothing changes. */
const followWith = async (
  transaction: TenantTransaction,
  charge: StoredCharge,
  days: ChargeDays | null,
  at: number,
): Promise<Described | null> => {
  const { terms } = charge
  if (days === null) {
    // Equal days mark the charge. The domain never reads it, because it is deleted.
    const marked = { ...charge, terms: { ...terms, endDay: terms.startDay } }
    await writeChargeDays(transaction, marked, at)
    return describe(charge, 'charge.delete')
  }
  if (terms.startDay === days.startDay && terms.endDay === days.endDay) return null
  const changed = { ...charge, terms: { ...terms, ...days } }
  await writeChargeDays(transaction, changed, null)
  return describe(changed, 'charge.update')
}

/**
 * Change the days of charges to those of their changed tariff: the charges end and return with the tariff. Charges of a
 * voided tariff are deleted. Returns the events and audit entries.
 * Source: docs/rules/connect.md #standing-charge.
 */
export const followTariff = async (
  dependencies: Pick<QueryServiceDependencies, 'timeZone'>,
  transaction: TenantTransaction,
  tariff: Pick<StoredTariff, 'id' | 'timezone'>,
  at: number,
): Promise<Described> => {
  const { applied, withoutDays } = await linkedCharges(transaction, tariff.id)
  const described: (Described | null)[] = []
  if (applied.length + withoutDays.length > 0) {
    const days = await chargeDaysOfTariff(dependencies, transaction, tariff)
    for (const charge of applied) described.push(await followWith(transaction, charge, days, at))
    for (const charge of days === null ? [] : withoutDays) {
      const returned = { ...charge, terms: { ...charge.terms, ...days } }
      await writeChargeDays(transaction, returned, null)
      described.push(await describe(returned, 'charge.create'))
    }
  }
  const changes = described.filter(one => one !== null)
  return { events: changes.flatMap(({ events }) => events), audit: changes.flatMap(({ audit }) => audit) }
}
