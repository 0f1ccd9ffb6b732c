import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

// Writes the files of a fleet for `npx wattledger import`: locations.csv, devices.csv and readings.csv with quarter hours.
// Usage: node test/demo/year-file.ts --out FOLDER [--devices 1000] [--days 365] [--start 2025-01-01]

const { values } = parseArgs({
  options: {
    out: { type: 'string' },
    devices: { type: 'string', default: '1000' },
    days: { type: 'string', default: '365' },
    start: { type: 'string', default: '2025-01-01' },
  },
})

const quarterMs = 900_000
const devicesPerLocation = 10

/** Energy of a reading in Wh: a pattern that differs by device and time. */
const energyOf = (device: number, quarter: number): number => 50 + ((device * 31 + quarter * 7) % 950)

const instantsOf = (start: number, count: number): readonly string[] =>
  Array.from({ length: count + 1 }, (_, index) => `${new Date(start + index * quarterMs).toISOString().slice(0, 19)}Z`)

const writeRows = (file: number, device: number, instants: readonly string[]): number => {
  const names = `site-${Math.floor(device / devicesPerLocation)},meter-${device}`
  let text = ''
  let sum = 0
  for (let quarter = 0; quarter + 1 < instants.length; quarter += 1) {
    const energy = energyOf(device, quarter)
    sum += energy
    text += `${names},${instants[quarter]},${instants[quarter + 1]},${energy}\n`
  }
  writeSync(file, text)
  return sum
}

const [folder, devices, days] = [values.out, Number(values.devices), Number(values.days)]
if (folder === undefined || !(devices >= 1) || !(days >= 1)) throw new Error('Set --out, --devices and --days.')
mkdirSync(folder, { recursive: true })

const writeFile = (name: string, rows: readonly string[]): void => {
  const file = openSync(join(folder, name), 'w')
  writeSync(file, `${rows.join('\n')}\n`)
  closeSync(file)
}

const locations = Math.ceil(devices / devicesPerLocation)
writeFile('locations.csv', [
  'reference_id,timezone,currency_code',
  ...Array.from({ length: locations }, (_, index) => `site-${index},Europe/Berlin,EUR`),
])
writeFile('devices.csv', ['reference_id', ...Array.from({ length: devices }, (_, index) => `meter-${index}`)])

const instants = instantsOf(Date.parse(values.start), days * 96)
const readings = openSync(join(folder, 'readings.csv'), 'w')
writeSync(readings, 'location_reference,device_reference,start,end,value\n')
let sum = 0
for (let device = 0; device < devices; device += 1) sum += writeRows(readings, device, instants)
closeSync(readings)

process.stdout.write(
  `${(devices * days * 96).toLocaleString('en')} readings, ${sum.toLocaleString('en')} Wh in ${folder}\n`,
)
process.stdout.write(`npx wattledger import locations ${folder}/locations.csv\n`)
process.stdout.write(`npx wattledger import devices ${folder}/devices.csv\n`)
process.stdout.write(`npx wattledger import readings ${folder}/readings.csv --unit WH\n`)
