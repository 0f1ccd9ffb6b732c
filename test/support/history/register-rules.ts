import type { RegisterRule } from '../../../services/domain/record/reading-rules.ts'
import type { Client } from '../system/client.ts'
import { makeOne } from '../system/home.ts'
import type { History, SentRegister } from './history.ts'

const lifetime: RegisterRule = { kind: 'LIFETIME', digits: null, maxPower: null }
const session: RegisterRule = { ...lifetime, kind: 'SESSION' }
/** 1,000 kWh are the range. */
const rolling: RegisterRule = { ...lifetime, digits: 3 }

const kilowatts = (count: number): bigint => BigInt(count) * 1_000_000_000n

/** Registers of the devices of all histories, by index. The first three devices also have records. */
export const deviceRules: readonly (RegisterRule | null)[] = [
  ...[null, null, null, lifetime, session, rolling],
  { ...rolling, maxPower: kilowatts(30) },
  { ...lifetime, maxPower: kilowatts(22) },
  { ...session, maxPower: kilowatts(30) },
]

/** Registers of the location of a history. All records of a history need less than 1 MW. */
export const locationRules: readonly (RegisterRule | null)[] = [
  ...[null, lifetime, session, rolling],
  { ...lifetime, maxPower: kilowatts(1_000) },
]

/** Return the rule of a register of a history. */
export const ruleOf = ({ locationRule }: Pick<History, 'locationRule'>, { device }: Pick<SentRegister, 'device'>) =>
  device === null ? locationRule : (deviceRules[device] ?? null)

/** Return the member `register` of a device or location. */
export const registerBody = (rule: RegisterRule | null): object => {
  if (rule === null) return {}
  const { kind, digits, maxPower } = rule
  return {
    register: {
      kind,
      ...(digits === null ? {} : { digits }),
      ...(maxPower === null ? {} : { max_power: { units: 'W', value: Number(maxPower / 1_000_000n) } }),
    },
  }
}

/** Create the devices of all histories. Return their ids. */
export const createDevices = async (client: Client): Promise<readonly string[]> => {
  const deviceIds: string[] = []
  for (const [index, rule] of deviceRules.entries())
    deviceIds.push(await makeOne(client, '/devices', { reference_id: `device ${index}`, ...registerBody(rule) }))
  return deviceIds
}
