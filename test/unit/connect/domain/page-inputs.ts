import fc from 'fast-check'
import type { SessionInput } from '../../../../services/connect/domain/advance.ts'
import { actions, connectPageNames } from '../../../../services/connect/domain/page.ts'
import type { PageSubmission } from '../../../../services/connect/domain/page-submission.ts'
import type { ConnectConfig } from '../../../../services/connect/domain/session.ts'

const flag = fc.boolean()

export const configs: fc.Arbitrary<ConnectConfig> = fc.record({
  layout: fc.constantFrom('current', 'earlier'),
  summaryName: fc.constantFrom('tariffs_summary', 'tariff_summary'),
  direction: fc.constantFrom('IMPORT', 'EXPORT', 'LOCAL'),
  type: fc.constant('COMMODITY'),
  disconnect: fc.constant(false),
  edit: flag,
  capturesAdvanced: flag,
  capturesName: flag,
  capturesTerm: flag,
})

const provider = fc.record({
  id: fc.constantFrom('prv_1', 'prv_2'),
  displayName: fc.constant('Volt'),
  logoUrl: fc.constant(null),
  loginUrl: fc.constantFrom(null, 'https://login.example.com'),
  hasLibrary: flag,
})

const regions = fc.constantFrom([], ['NO1'], ['NO1', 'NO2'], ['NO1', 'NO2'])
const term = { start: null, end: null, type: '' } as const

const captures: fc.Arbitrary<PageSubmission> = fc.oneof(
  fc.record({
    page: fc.constant('address' as const),
    address: fc.constant({ country_code: 'NO' }),
    regions,
    hasMarketSource: fc.constantFrom(false, false, true),
    currencyCode: fc.constant('NOK'),
  }),
  fc.record({ page: fc.constantFrom('provider' as const, 'provider_name' as const), provider }),
  fc.record({ page: fc.constant('library' as const), tariffId: fc.constant('trt_1'), name: fc.constant('Green') }),
  fc.record({
    page: fc.constant('structure' as const),
    structure: fc.constantFrom('FIXED', 'TIME_OF_DAY', 'MARKET', 'ADVANCED'),
  }),
  fc.constant<PageSubmission>({ page: 'fixed', cost: '0.3' }),
  fc.constant<PageSubmission>({ page: 'time_of_day', hours: [] }),
  flag.map((marketRates): PageSubmission => ({ page: 'advanced', advanced: { marketRates, schedule: [] }, term })),
  fc.record({ page: fc.constant('region' as const), region: fc.constantFrom(null, 'NO1', 'NO2', 'SE1') }),
  fc.record({
    page: fc.constant('surcharge' as const),
    surcharge: fc.constant({ fixed: '0', percentage: '0' }),
    region: fc.constantFrom(null, 'NO1', 'SE1'),
  }),
  fc.record({ page: fc.constant('name' as const), name: fc.constantFrom(null, 'Mine') }),
  fc.record({ page: fc.constant('term' as const), term: fc.constantFrom(null, term) }),
  fc.record({
    page: fc.constant('login' as const),
    outcome: fc.constantFrom('connected', 'pending', 'skipped', 'again', 'another'),
  }),
)

export const inputs: fc.Arbitrary<SessionInput> = fc.oneof(
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('start' as const),
      tariffStatus: fc.constantFrom('none', 'connected', 'pending', 'failed'),
    }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('submit' as const), submission: captures }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<SessionInput>(
      ...(['BACK', 'EDIT'] as const).map(action => ({ kind: 'action', action, page: null }) as const),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('action' as const),
      action: fc.constantFrom(...actions),
      page: fc.constantFrom(null, ...connectPageNames),
    }),
  },
)
