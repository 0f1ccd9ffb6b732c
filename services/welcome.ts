import type { System } from './system.ts'

/**
 * Return example requests to paste into a terminal: log in, create a location and a tariff, send a record, calculate an
 * instant cost, and read the cost of the day.
 */
const requests = (baseUrl: string, accountId: string, key: string): string => `
  TOKEN=$(curl -s -u ${accountId}:${key} ${baseUrl}/login | sed 's/.*"bearer_token":"\\([^"]*\\)".*/\\1/')

  LOCATION=$(curl -s ${baseUrl}/locations -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{
    "postal_address": {"city": "Berlin", "country_code": "DE"}}' | sed 's/.*"id":"\\(loc_[^"]*\\)".*/\\1/'); echo $LOCATION

  curl -s ${baseUrl}/tariffs -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{
    "location_id": "'$LOCATION'", "direction": "IMPORT", "type": "COMMODITY", "display_name": "Day and night", "schedule": [
      {"months": ["All"], "days_and_hours": [{"days": ["All"], "hours": [
        {"valid_from": "06:00:00", "valid_to": "22:00:00", "rate": [{"fixed": 0.32}]},
        {"valid_from": "22:00:00", "valid_to": "06:00:00", "rate": [{"fixed": 0.21}]}]}]}]}'; echo

  curl -s -X PUT ${baseUrl}/meters/interval -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '[
    {"location_id": "'$LOCATION'", "units": "KWH", "value": 7.4, "start_time": "2026-01-15T21:00:00+01:00", "end_time": "2026-01-15T23:00:00+01:00"}]'; echo

  curl -s ${baseUrl}/costs/instant -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{
    "location_id": "'$LOCATION'", "units": "KW", "value": 11, "start_time": "2026-01-15T05:30:00+01:00", "end_time": "2026-01-15T06:30:00+01:00"}'; echo

  sleep 1; curl -s "${baseUrl}/costs/interval/$LOCATION" -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{
    "start_time": "2026-01-15T00:00:00+01:00", "end_time": "2026-01-16T00:00:00+01:00"}'; echo
`

/** Return the welcome text with addresses and first steps. The keys are shown at the first start only. */
export const welcome = (
  system: Pick<System, 'baseUrl' | 'metricsUrl' | 'sandbox' | 'isFirstStart'>,
  dataFolder: string,
  startupMs: number,
): string => {
  const { baseUrl, metricsUrl, sandbox, isFirstStart } = system
  const head = `\nWattledger is ready on ${baseUrl} (${(startupMs / 1000).toFixed(1)} s)\n`
  const addresses = [
    `  reference  ${baseUrl}/docs\n`,
    `  console    ${baseUrl}/console\n`,
    `  metrics    ${metricsUrl}\n`,
    `  data       ${dataFolder}\n`,
  ].join('')
  if (sandbox === null) return `${head}${addresses}\n`
  const account = `  account    ${sandbox.account_id}\n`
  if (!isFirstStart) return `${head}${addresses}${account}  keys       ${dataFolder}/sandbox.json\n\n`
  const keys = [
    `  live key   ${sandbox.live_key}\n`,
    `  test key   ${sandbox.test_key}\n`,
    `  all keys   ${dataFolder}/sandbox.json (readable by you only)\n`,
  ].join('')
  const steps = requests(baseUrl, sandbox.account_id, sandbox.test_key)
  return `${head}${addresses}${account}${keys}\nFirst steps. Paste these requests into another terminal:\n${steps}\n`
}
