import { nameKey } from '../../domain/geocoding/city-name.ts'

/** List the keys of a city's names in other languages and of its former names; empty for a city with one name. */
export function otherNames(country: string, key: string): readonly string[] {
  const known = groupsByCountry.get(country) ?? readGroups(country)
  groupsByCountry.set(country, known)
  return known.get(key) ?? []
}

const groupsByCountry = new Map<string, ReadonlyMap<string, readonly string[]>>()

function readGroups(country: string): ReadonlyMap<string, readonly string[]> {
  const groups = cityNames(country).map(names => names.map(nameKey))
  return new Map(groups.flatMap(keys => keys.map(key => [key, keys.filter(other => other !== key)] as const)))
}

/** List groups of names; each group names one city. */
export const cityNames = (country: string): readonly (readonly string[])[] =>
  (exonyms[country] ?? '')
    .split(';')
    .filter(group => group.trim() !== '')
    .map(group => group.split('=').map(name => name.trim()))

/** List the countries in `exonyms`. */
export const countriesWithExonyms = (): readonly string[] => Object.keys(exonyms)

/** One group per city. Spellings that differ only in case, diacritics or punctuation are not repeated. */
const exonyms: Readonly<Record<string, string>> = {
  AE: 'Dubai=Dubayy; Abu Dhabi=Abu Zaby',
  AM: 'Yerevan=Erevan',
  AR: 'Buenos Aires=Ciudad Autonoma de Buenos Aires=CABA=Capital Federal',
  AT: 'Vienna=Wien=Vienne=Bécs=Viden=Βιέννη; Klagenfurt=Klagenfurt am Wörthersee=Celovec; Villach=Beljak; Graz=Gradec; Salzburg=Salisburgo',
  AZ: 'Baku=Bakı',
  BA: 'Sarajevo=Sarajewo',
  BE: `
Brussels=Bruxelles=Brussel=Brüssel=Bruselas=Bruxelas; Antwerpen=Antwerp=Anvers; Gent=Ghent=Gand; Brugge=Bruges=Brügge;
Liège=Luik=Lüttich; Namur=Namen; Mons=Bergen; Leuven=Louvain=Löwen; Mechelen=Malines; Kortrijk=Courtrai; Tournai=Doornik;
Oostende=Ostend=Ostende; Ieper=Ypres; Aalst=Alost; Roeselare=Roulers; Tongeren=Tongres;
Louvain-la-Neuve=Ottignies; Halle=Hal; Tienen=Tirlemont; Lier=Lierre`,
  BG: 'Sofia=Sofiya=Sofija; Plovdiv=Philippopel; Burgas=Bourgas; Ruse=Rousse; Veliko Turnovo=Veliko Tarnovo; Turgovishte=Targovishte',
  BR: 'Brasília=Brasilia DF; São Paulo=Sao Paulo SP',
  BY: 'Minsk=Miensk; Brest=Brest-Litovsk',
  CA: `
Québec=Quebec City=Ville de Québec; Montréal=Montreal; St. John's=Saint John's; Saint John=St John NB; Greater Sudbury=Sudbury;
Trois-Rivières=Three Rivers`,
  CH: `
Genève=Geneva=Genf=Ginevra; Zürich=Zurich=Zurigo; Bern=Berne=Berna; Basel=Basle=Bâle=Basilea; Luzern=Lucerne=Lucerna;
Sankt Gallen=Saint-Gall=San Gallo; Fribourg=Freiburg=Freiburg im Üechtland; Neuchâtel=Neuenburg; Sion=Sitten; Solothurn=Soleure;
Chur=Coire=Cuira; Biel/Bienne=Biel=Bienne; Schaffhausen=Schaffhouse; Bellinzona=Bellenz; Winterthur=Winterthour; Sierre=Siders`,
  CL: 'Santiago=Santiago de Chile',
  CN: 'Beijing=Peking; Guangzhou=Canton; Nanjing=Nanking; Tianjin=Tientsin; Ürümqi=Urumqi=Urumchi',
  CO: 'Bogotá=Bogota DC=Santa Fe de Bogota; Cartagena=Cartagena de Indias',
  CY: 'Nicosia=Lefkosia=Λευκωσία=Lefkoşa; Limassol=Lemesos=Λεμεσός; Larnaca=Larnaka; Paphos=Pafos; Famagusta=Ammochostos=Gazimağusa',
  CZ: `
Prague=Praha=Prag=Praga; Brno=Brünn; Pilsen=Plzeň; Ostrava=Ostrau; Olomouc=Olmütz; České Budějovice=Budweis; Karlovy Vary=Karlsbad=Carlsbad;
Liberec=Reichenberg; Ústí nad Labem=Aussig; Hradec Králové=Königgrätz; Český Krumlov=Krumau`,
  DE: `
Munich=München=Monaco di Baviera=Monachium; Köln=Cologne=Keulen=Colonia; Nürnberg=Nuremberg=Norimberga; Hannover=Hanover=Hanovre;
Braunschweig=Brunswick; Aachen=Aix-la-Chapelle=Aken; Mainz=Mayence; Koblenz=Coblence; Trier=Trèves; Regensburg=Ratisbon=Ratisbonne;
Hameln=Hamelin; Frankfurt am Main=Frankfort=Francfort=Francoforte=Frankfurt/Main; Berlin=Berlijn=Berlino; Hamburg=Hambourg=Amburgo;
Dresden=Dresde; Leipzig=Lipsia; Stuttgart=Stoccarda; Düsseldorf=Dusseldorf; Saarbrücken=Sarrebruck; Bautzen=Budyšin; Bremen=Brême;
Freiburg=Freiburg im Breisgau=Fribourg-en-Brisgau; Cottbus=Chóśebuz; Heidelberg=Heidelberga; Konstanz=Constance;
Büsingen=Büsingen am Hochrhein; Speyer=Spire; Göttingen=Goettingue; Rottweil=Rotweil`,
  DK: `
Copenhagen=København=Kopenhagen=Copenhague=Köpenhamn; Århus=Aarhus; Aalborg=Ålborg; Odense=Odensee; Helsingør=Elsinore; Rønne=Ronne;
Esbjerg=Esbjærg`,
  EE: 'Tallinn=Tallinna=Reval; Tartu=Dorpat; Pärnu=Pernau',
  EG: 'Cairo=Al Qahirah=Kairo=Le Caire=القاهرة; Alexandria=Al Iskandariyah; Giza=Al Jizah=Al Jīzah',
  ES: `
Sevilla=Seville=Siviglia; Zaragoza=Saragossa; Barcelona=Barcelone; Madrid=Madryt; A Coruña=La Coruña=Corunna; Donostia / San
Sebastián=San Sebastián=San Sebastian=Donostia=San Sebastián/Donostia; Bilbao=Bilbo; Vitoria-Gasteiz=Vitoria=Gasteiz;
Pamplona=Iruña=Iruñea=Pamplona / Iruña; Palma=Palma de Mallorca; Alicante=Alacant; Elche=Elx; Castelló de la Plana=Castellón de la Plana=Castellón;
Valencia=València; Córdoba=Cordova; Lleida=Lérida; Girona=Gerona; Ourense=Orense; Eivissa=Ibiza; Maó=Mahón=Mahon;
Las Palmas de Gran Canaria=Las Palmas; Santa Cruz de Tenerife=Santa Cruz; Jerez de la Frontera=Jerez; Cadiz=Cádiz`,
  FI: `
Helsinki=Helsingfors; Turku=Åbo; Tampere=Tammerfors; Espoo=Esbo; Vantaa=Vanda; Oulu=Uleåborg; Vaasa=Vasa; Pori=Björneborg; Porvoo=Borgå;
Lappeenranta=Villmanstrand; Hämeenlinna=Tavastehus; Kokkola=Karleby; Jakobstad=Pietarsaari; Lahti=Lahtis; Kotka=Kotka stad`,
  FR: `
Paris=Parigi=Parijs=París; Marseille=Marseilles=Marsiglia; Lyon=Lyons=Lione; Strasbourg=Strassburg=Straßburg; Nice=Nizza; Lille=Rijsel;
Dunkerque=Dunkirk=Duinkerke; Bordeaux=Burdeos; Mulhouse=Mülhausen; Rennes=Roazhon; Quimper=Kemper; Ajaccio=Aiacciu; Reims=Rheims;
Toulouse=Tolosa; Metz=Metis; Bayonne=Baiona; Perpignan=Perpinyà; Nantes=Naoned`,
  GB: `
London=Londres=Londra=Londen=Londýn=City of London; Edinburgh=Edimburgo=Dùn Èideann; Cardiff=Caerdydd; Swansea=Abertawe; Newport=Casnewydd;
Derry=Londonderry; Newcastle upon Tyne=Newcastle; Kingston upon Hull=Hull; Bath=City of Bath; Belfast=Béal Feirste; Bangor=Bangor Fawr;
Inverness=Inbhir Nis; Aberystwyth=Aberistwyth; Stoke-on-Trent=Stoke; Southend-on-Sea=Southend`,
  GE: "Tbilisi=Tiflis; Batumi=Batoumi; K'ut'aisi=Kutaisi",
  GL: 'Nuuk=Godthåb; Ilulissat=Jakobshavn; Sisimiut=Holsteinsborg',
  GR: `
Athens=Athina=Αθήνα=Athen=Athènes=Atene; Thessaloníki=Salonica=Saloniki=Thessalonica; Piraeus=Piraiás=Peiraias; Pátra=Patras=Patrai;
Irákleion=Heraklion=Iraklio=Iraklion; Kérkyra=Corfu=Corfou; Ródos=Rhodes=Rhodos; Chaniá=Khania=Hania; Lárisa=Larissa; Vólos=Volo;
Ioánnina=Yannina; Kalamáta=Calamata; Chios=Hios=Khíos`,
  HR: 'Zagreb=Agram; Split=Spalato; Rijeka=Fiume; Dubrovnik=Ragusa; Zadar=Zara; Pula=Pola; Osijek=Esseg',
  HU: 'Budapest=Budapešť=Ofenpest; Győr=Raab; Pécs=Fünfkirchen; Szeged=Szegedin; Székesfehérvár=Stuhlweißenburg; Sopron=Ödenburg; Debrecen=Debrezin',
  ID: 'Jakarta=Djakarta=DKI Jakarta=Jakarta Pusat; Yogyakarta=Jogjakarta; Denpasar=Denpasar Bali',
  IE: `
Dublin=Baile Átha Cliath=Dublino; Cork=Corcaigh; Galway=Gaillimh; Limerick=Luimneach; Waterford=Port Láirge; Dún Laoghaire=Dun Laoire;
Sligo=Sligeach; Kilkenny=Cill Chainnigh; Letterkenny=Leitir Ceanainn; Tralee=Trá Lí; Killarney=Cill Airne; Athlone=Baile Átha Luain`,
  IL: 'Jerusalem=Yerushalayim; Tel Aviv=Tel Aviv-Yafo=Tel Aviv-Jaffa; Haifa=Hefa=H̱efa; Beersheba=Beer Sheva',
  IN: `
Mumbai=Bombay; Bengaluru=Bangalore; Chennai=Madras; Kolkata=Calcutta; Pune=Poona; Gurgaon=Gurugram; Puducherry=Pondicherry; Varanasi=Benares;
Mysore=Mysuru; Thiruvananthapuram=Trivandrum; Kochi=Cochin; New Delhi=Delhi NCR`,
  IS: 'Reykjavík=Reikiavik',
  IT: `
Rome=Roma=Rom=Rzym; Milan=Milano=Mailand=Mediolan; Florence=Firenze=Florenz=Florencia; Naples=Napoli=Neapel; Venice=Venezia=Venedig=Venise;
Turin=Torino; Genoa=Genova=Genua=Gênes; Bologna=Bolonia; Padova=Padua; Verona=Vérone; Mantova=Mantua; Bolzano=Bozen=Bolzano/Bozen;
Merano=Meran; Bressanone=Brixen; Brunico=Bruneck; Trento=Trient; Trieste=Triest; Siracusa=Syracuse; Livorno=Leghorn; Ancona=Ankona;
Reggio Calabria=Reggio di Calabria; Reggio nell'Emilia=Reggio Emilia=Reggio; Aosta=Aoste; Messina=Messine; Cagliari=Casteddu;
Forlì=Forli; Mestre=Venezia Mestre`,
  JE: 'Saint Helier=St Helier=Saint-Hélier',
  JP: 'Tokyo=Tōkyō=東京=東京都; Osaka=Ōsaka=大阪市=大阪; Kyoto=Kyōto=京都市; Nagoya=Nagoya-shi=名古屋市; Sapporo=札幌市; Fukuoka=福岡市; Naha=那覇市',
  KR: 'Seoul=Soul=서울=서울특별시; Busan=Pusan=부산; Incheon=Inchon=인천; Daegu=Taegu=대구; Jeju City=Jeju=Cheju',
  KZ: 'Almaty=Alma-Ata; Astana=Nur-Sultan; Oral=Uralsk; Aktau=Aqtau',
  LI: 'Vaduz=Fürstentum Vaduz',
  LT: 'Vilnius=Wilna=Wilno; Kaunas=Kowno; Klaipėda=Memel',
  LU: 'Luxembourg=Luxemburg=Lëtzebuerg=Luxembourg City=Luxemburgo; Esch-sur-Alzette=Esch an der Alzette=Esch; Diekirch=Dikrech',
  LV: 'Riga=Rīga=Ryga; Daugavpils=Dünaburg; Liepāja=Libau; Jelgava=Mitau',
  MA: 'Casablanca=Dar el Beida=Ad Dar al Bayda; Marrakesh=Marrakech; Fès=Fez=Fes; Tangier=Tanger; Meknès=Meknes; Rabat=Ar Ribat',
  MC: 'Monaco=Monaco-Ville; Monte-Carlo=Montecarlo',
  MD: 'Chisinau=Chișinău=Kishinev; Tiraspol=Tiraspolul',
  ME: 'Podgorica=Titograd; Kotor=Cattaro',
  MK: 'Skopje=Üsküp=Skoplje; Bitola=Monastir',
  MM: 'Yangon=Rangoon; Mandalay=Mandale',
  MN: 'Ulan Bator=Ulaanbaatar',
  MO: 'Macau=Macao',
  MT: 'Valletta=La Valletta=Il-Belt Valletta; Victoria=Rabat Gozo',
  MX: `
Mexico City=Ciudad de México=México=CDMX=México DF=Ciudad de Mexico; Monterrey=Monterrey NL; Puebla=Puebla de Zaragoza;
Juárez=Ciudad Juárez; León de los Aldama=León=Leon; Querétaro=Santiago de Querétaro; Oaxaca=Oaxaca de Juárez; Cancún=Cancun Quintana Roo`,
  NL: `
The Hague=Den Haag='s-Gravenhage=La Haye=Haag; 's-Hertogenbosch=Den Bosch=Bois-le-Duc; Amsterdam=Amsterdão; Rotterdam=Roterdã; Nijmegen=Nimwegen=Nimègue;
Groningen=Groninga=Grins; Leeuwarden=Ljouwert; Vlissingen=Flushing; Utrecht=Utrecht Stad; Leiden=Leyden; Maastricht=Mestreech;
Hoek van Holland=Hook of Holland; Arnhem=Arnheim; Haarlem=Harlem`,
  NO: 'Oslo=Kristiania; Trondheim=Trondhjem=Nidaros=Tråante; Bodø=Bådåddjo; Tromsø=Romsa; Bergen=Bjørgvin; Alta=Áltá; Kristiansand=Kristiansand S',
  PH: 'Manila=Maynila; Quezon City=Lungsod Quezon; Cebu City=Cebu; Davao=Davao City',
  PL: `
Warsaw=Warszawa=Warschau=Varsovie=Varsavia; Kraków=Cracow=Krakau=Cracovie; Gdańsk=Danzig; Wrocław=Breslau; Poznań=Posen; Łódź=Lodsch;
Szczecin=Stettin; Katowice=Kattowitz; Toruń=Thorn; Częstochowa=Tschenstochau; Lublin=Lublino; Olsztyn=Allenstein; Opole=Oppeln;
Bydgoszcz=Bromberg; Białystok=Bialystok`,
  PT: 'Lisbon=Lisboa=Lissabon=Lisbonne=Lisbona; Porto=Oporto; Coimbra=Conimbriga; Funchal=Funchal Madeira; Ponta Delgada=Ponta Delgada Açores',
  RO: `
Bucharest=București=Bukarest=Bucarest; Cluj-Napoca=Cluj=Klausenburg=Kolozsvár; Sibiu=Hermannstadt; Braşov=Kronstadt; Timişoara=Temeswar=Temesvár;
Iaşi=Jassy=Iasi; Oradea=Großwardein; Constanţa=Constanza; Sighișoara=Schäßburg; Târgu-Mureş=Targu Mures=Marosvásárhely`,
  RS: 'Belgrade=Beograd=Belgrad=Београд; Niš=Nish=Nissa; Novi Sad=Neusatz; Subotica=Szabadka',
  RU: 'Moscow=Moskva=Moskau=Moscou; Saint Petersburg=Sankt-Peterburg=Petersburg; Kaliningrad=Königsberg; Yekaterinburg=Ekaterinburg; Kazan=Kasan',
  SA: 'Riyadh=Ar Riyad; Jeddah=Jiddah; Mecca=Makkah; Medina=Al Madinah',
  SE: 'Göteborg=Gothenburg=Gotemburgo; Stockholm=Estocolmo; Malmö=Malmoe; Luleå=Luleju; Uppsala=Upsala',
  SI: 'Ljubljana=Laibach=Lubiana; Maribor=Marburg an der Drau; Koper=Capodistria; Piran=Pirano; Celje=Cilli; Ptuj=Pettau',
  SK: 'Bratislava=Pressburg=Pozsony; Košice=Kaschau=Kassa; Prešov=Eperjes; Nitra=Neutra; Banská Bystrica=Neusohl',
  TR: 'İstanbul=Istanbul=Constantinople=İstanbul Avrupa; İzmir=Izmir=Smyrna; Ankara=Angora; Bursa=Brusa; Trabzon=Trebizond',
  TW: 'Taipei=Taibei=臺北市=台北市; Kaohsiung=Gaoxiong=高雄市; Taichung=Taizhong=臺中市',
  UA: `
Kyiv=Kiev=Kyjiw=Київ=Киев=Kiew=Kijów; L'viv=Lviv=Львів=Lvov=Lemberg=Lwów; Odessa=Odesa=Одеса; Kharkiv=Kharkov=Харків; Dnipro=Dnipropetrovsk=Днiпро;
Chernivtsi=Czernowitz=Чернівці; Uzhhorod=Uzhgorod=Ungvár=Ужгород; Zaporizhzhya=Zaporizhia=Zaporizhzhia=Запоріжжя; Simferopol=Сімферополь`,
  US: `
New York City=New York=NYC=New York NY; Washington, D.C.=Washington DC; Los Angeles=LA; San Francisco=SF; Saint Paul=St Paul;
Lexington-Fayette=Lexington; Nashville=Nashville-Davidson; Louisville=Louisville-Jefferson County; Boise=Boise City; Honolulu=Honolulu HI;
Ventura=San Buenaventura; Winston-Salem=Winston Salem; Indianapolis=Indianapolis city; Anchorage=Anchorage municipality`,
  UZ: 'Tashkent=Toshkent; Samarkand=Samarqand',
  VA: 'Vatican City=Città del Vaticano=Vaticano=Cité du Vatican',
  VN: 'Ho Chi Minh City=Saigon=Thành phố Hồ Chí Minh=Hồ Chí Minh; Hanoi=Hà Nội; Da Nang=Đà Nẵng; Haiphong=Hải Phòng',
  XK: 'Pristina=Prishtina=Priština=Prishtinë; Prizren=Prizreni',
  ZA: 'Cape Town=Kaapstad; Johannesburg=Joburg; Pretoria=Tshwane; Port Elizabeth=Gqeberha; Durban=eThekwini',
}
