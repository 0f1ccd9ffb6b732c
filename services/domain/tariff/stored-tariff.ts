import type { Tenant } from '../tenant.ts'
import type { Tariff } from './tariff.ts'

/** Ways in which a location got a tariff. */
export const connectionTypes = ['MANUAL', 'LIBRARY', 'DIRECT', 'MARKET'] as const

export type ConnectionType = (typeof connectionTypes)[number]

/** Stored tariff: its prices and its displayed members. `timezone` is that of its location; instants in ms. */
export type StoredTariff = Tariff &
  Tenant & {
    readonly locationId: string
    readonly timezone: string
    readonly connectionType: ConnectionType
    readonly status: 'CONNECTED' | 'ERROR'
    readonly displayName: string | null
    readonly providerId: string | null
    readonly libraryTariffId: string | null
    /** Plan that keeps the tariff, and its version; null if there is none. */
    readonly planId: string | null
    readonly planVersion: number | null
    readonly component: string
    readonly createdAt: number
  }
