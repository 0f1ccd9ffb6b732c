/** Frame of charge detail records. */
export const cdrFrame = {
  party: { country_code: 'NL', party_id: 'WLG' },
  token: { country_code: 'NL', party_id: 'EMS', uid: '04A1B2C3', type: 'RFID', contract_id: 'NL-EMS-C00000001-X' },
  location: {
    id: 'depot-7',
    address: 'Kade 7',
    city: 'Utrecht',
    postal_code: '3511 AA',
    country: 'NLD',
    coordinates: { latitude: '52.090700', longitude: '5.121400' },
    evse_uid: 'evse-1',
    evse_id: 'NL*WLG*E000001',
    connector_id: '1',
    connector_standard: 'IEC_62196_T2',
    connector_format: 'SOCKET',
    connector_power_type: 'AC_3_PHASE',
  },
} as const
