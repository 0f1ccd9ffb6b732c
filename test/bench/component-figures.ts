import { openEmbedded } from './bench-system.ts'
import { waitFigures } from './bills/simulation-waits.ts'
import { simulationFigures } from './bills/simulations.ts'
import { exportFigures } from './exports/export-figures.ts'
import { type FigureLine, lineOf, type Measures, ratioLine } from './figure-line.ts'
import { measureGateway } from './gateway.ts'
import { insertRates } from './insert.ts'
import { priceFigures } from './prices.ts'
import { pricingFigures } from './pricing.ts'
import { recostFigures } from './recost.ts'
import { planFigures } from './schedules.ts'
import { startTimes } from './single.ts'

const insertLines = async (): Promise<readonly FigureLine[]> => {
  const { engine, withEncoding, bytesPerRow } = await insertRates()
  return [
    ratioLine('P5', 'rows stored', withEncoding, engine, 'rows/s', '≥ 0.6 ×'),
    lineOf('P10', 'storage', bytesPerRow, 'bytes/row', '≤ 40'),
  ]
}

const recostLines = async (): Promise<readonly FigureLine[]> => {
  const { oneLocationSeconds, marketRows, marketRowsPerSecond } = await recostFigures()
  return [
    lineOf('D5', '10,000 rows follow a tariff', oneLocationSeconds, 's', '≤ 10'),
    lineOf('D5', `${marketRows.toLocaleString('en')} rows follow a price`, marketRowsPerSecond, 'rows/s', ''),
  ]
}

const startLines = async (): Promise<readonly FigureLine[]> => {
  const { firstSeconds, laterSeconds, rssMb } = await startTimes()
  return [
    lineOf('P10', 'first start', firstSeconds, 's', '≤ 5'),
    lineOf('P10', 'later start', laterSeconds, 's', '≤ 0.8'),
    lineOf('P10', 'memory when idle', rssMb, 'MB', '≤ 350'),
  ]
}

/** Figures of single components, and figures that only an embedded system has. */
export const componentFigures: Measures = {
  P3: async () => {
    const { gatewayNs, parseNs } = await measureGateway()
    return [ratioLine('P3', 'own work of the gateway', gatewayNs, parseNs, 'ns/record', '≤ 3.0 ×')]
  },
  P4: async () =>
    pricingFigures().map(({ name, recordsPerSecond }) =>
      lineOf('P4', `pricing, ${name}`, recordsPerSecond, 'records/s', '1 M / 300 k / 700 k'),
    ),
  P5: insertLines,
  P8: async () =>
    priceFigures().map(({ name, ms }) => lineOf('P8', name, ms, 'ms CPU', name.startsWith('audit') ? '≤ 25' : '≤ 15')),
  D5: recostLines,
  P9: async () =>
    planFigures().map(({ name, ms }) =>
      lineOf('P9', `plan, ${name}`, ms, 'ms', name.startsWith('1000 ') ? '≤ 1,000' : '≤ 50'),
    ),
  P10: startLines,
  P15: async () => {
    const { ms, bareMs } = await simulationFigures()
    const waits = await waitFigures(openEmbedded)
    return [
      ratioLine('P15', 'year × 50 candidates, bare loop', ms, bareMs, 'ms CPU', '≤ 2,500'),
      ratioLine('P15', 'longest read beside a simulation', waits.longestMs, waits.aloneMs, 'ms', '≤ 100'),
      lineOf('P15', 'simulation over HTTP', waits.seconds, 's', ''),
    ]
  },
  P17: async () => {
    const { rowsPerSecond, cpuMicroseconds, memoryMb } = await exportFigures()
    return [
      lineOf('P17', 'export to Parquet', rowsPerSecond, 'rows/s', '≥ 1,000,000'),
      lineOf('P17', 'CPU, export to Parquet', cpuMicroseconds, 'µs/row', ''),
      lineOf('P17', 'memory for an export', memoryMb, 'MiB', '≤ 700'),
    ]
  },
}
