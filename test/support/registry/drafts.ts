import type { LocationDraft } from '../../../services/domain/registry/location.ts'
import type { Rate } from '../../../services/domain/tariff/rate.ts'
import type { ScheduleEntry } from '../../../services/domain/tariff/tariff.ts'
import type { ChargeDraft } from '../../../services/platform/postgres/pricing/charges.ts'
import type { TariffDraft } from '../../../services/platform/postgres/pricing/tariff-row.ts'
import type { EndpointDraft } from '../../../services/platform/postgres/webhooks/webhook-endpoints.ts'

/** Draft of a location in Berlin without customer and market source. */
export const locationDraft = (change: Partial<LocationDraft> = {}): LocationDraft => ({
  referenceId: null,
  displayName: null,
  customerId: null,
  postalAddress: {
    address_line1: 'Unter den Linden 1',
    address_line2: null,
    city: 'Berlin',
    state: null,
    post_code: '10117',
    country_code: 'DE',
  },
  overrides: { timezone: null, currencyCode: null, importSourceId: null, exportSourceId: null },
  timezone: 'Europe/Berlin',
  currencyCode: 'EUR',
  geoLocation: { lat: 52.52437, lng: 13.41053 },
  importSourceId: null,
  exportSourceId: null,
  calendarId: null,
  register: null,
  metadata: {},
  ...change,
})

const rate = (change: Partial<Rate>): Rate => ({
  fixed: 0n,
  to: null,
  surchargeFixed: 0n,
  surchargePercentage: 0n,
  ...change,
})

/** Schedule with one price at all hours, in 1e-9 per kWh. Up to 100 kWh per month, the price is 0.01 lower. */
export const tieredSchedule = (price: bigint): readonly ScheduleEntry[] => [
  {
    months: ['All'],
    dates: [],
    daysAndHours: [
      {
        days: ['All'],
        hours: [
          {
            validFrom: 0,
            validTo: 86_400,
            rate: [rate({ fixed: price - 10_000_000n, to: 100_000_000_000n }), rate({ fixed: price })],
          },
        ],
      },
    ],
  },
]

/** Draft of a webhook endpoint for all event types. */
export const endpointDraft = (change: Partial<EndpointDraft> = {}): EndpointDraft => ({
  url: 'https://example.com/',
  eventTypes: ['*'],
  description: null,
  apiVersion: 'current',
  sealedSecret: () => 'sealed',
  ...change,
})

/** Draft of a session charge without a plan. `deviceIds` null: all devices. */
export const chargeDraft = (
  locationId: string,
  deviceIds: readonly string[] | null = null,
  name = 'Blocking fee',
): ChargeDraft => ({
  locationId,
  planId: null,
  planVersion: null,
  terms: {
    ...({ kind: 'SESSION', name, component: 'session', startDay: null, endDay: null, sequence: 0 } as const),
    ...({ price: 100_000_000n, per: 'MINUTE', while: 'IDLE', afterMs: 0, count: 'EXACT' } as const),
    maxAmount: 12_000_000_000n,
    windows: [],
    deviceIds,
  },
})

/** Draft of a manual import tariff without contract dates. */
export const tariffDraft = (locationId: string, change: Partial<TariffDraft> = {}): TariffDraft => ({
  locationId,
  direction: 'IMPORT',
  type: 'COMMODITY',
  connectionType: 'MANUAL',
  status: 'CONNECTED',
  displayName: 'House tariff',
  providerId: null,
  libraryTariffId: null,
  marketRates: false,
  contractStart: null,
  contractEnd: null,
  schedule: tieredSchedule(300_000_000n),
  ...change,
})
