import { describe, expect, it } from 'vitest'
import { recordDefaults } from '../../../../services/domain/record/record.ts'
import { priceRows } from '../../../../services/domain/statement/billed-row.ts'
import type { RecordToPrice } from '../../../../services/domain/statement/counts-at-starts.ts'
import { createPricingPool } from '../../../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot } from '../../../../services/domain/tariff/snapshot.ts'
import { zoneOf } from '../../../support/oracle/zone.ts'
import { inputOf, statementOf } from './bill.ts'

const hourSeconds = 3_600
const [start, end] = [Date.UTC(2025, 5, 1), Date.UTC(2026, 5, 1)]

/** Prices of 0.001 to 0.024 per kWh, one for each hour of the day. */
const hourly = compileSnapshot(
  {
    locationId: 'loc_1',
    currencyCode: 'EUR',
    timeZone: zoneOf('UTC'),
    calendar: null,
    importMarket: null,
    exportMarket: null,
    tariffs: [
      {
        id: 'trf_1',
        direction: 'IMPORT',
        type: 'COMMODITY',
        marketRates: false,
        contractStart: null,
        contractEnd: null,
        closedAt: null,
        schedule: [
          {
            months: ['All'],
            dates: [],
            daysAndHours: [
              {
                days: ['All'],
                hours: Array.from({ length: 24 }, (_, hour) => ({
                  validFrom: hour * hourSeconds,
                  validTo: (hour + 1) * hourSeconds,
                  rate: [
                    { fixed: BigInt(hour + 1) * 1_000_000n, to: null, surchargeFixed: 0n, surchargePercentage: 0n },
                  ],
                })),
              },
            ],
          },
        ],
      },
    ],
  },
  createPricingPool(),
)

/** 1 kWh each hour of a year. */
const record: RecordToPrice = {
  ...recordDefaults,
  recordId: '1',
  locationId: 'loc_1',
  deviceId: null,
  covered: [],
  energyFlowDirection: 'INBOUND',
  tariffDirection: 'IMPORT',
  start,
  end,
  energy: 8_760_000_000_000n,
}

describe('a record of a year with a price for each hour', () => {
  const rows = [...priceRows(hourly, [record], new Map(), () => true)]
  const statement = { start_date: '2025-06-01', end_date: '2026-06-01' }
  const input = inputOf({ statement }, { rows })

  it('has a piece for each hour', () => {
    expect(rows.map(({ pieces }) => pieces.length)).toEqual([8_760])
  })

  it('is added up, and each hour counts once', () => {
    // 365 days × (1 + … + 24) × 0.001
    expect(statementOf(input).totals.gross).toBe(109_500_000_000n)
  })
})
