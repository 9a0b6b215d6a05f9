"""Words that perturbations look for and insert: short lists of words with one meaning.

No list has a name that is also a word or a place (Will, Hope, Paris, Jordan), nor a place that is also a word or a name
(Turkey, China, Phoenix), so that a capital letter is enough to recognize one. Users can pass their own lists.
"""

# ruff: noqa: SIM905 - word lists read better as words than as one string per line

from __future__ import annotations

from collections.abc import Mapping

NAMES: Mapping[str, tuple[str, ...]] = {
    "male": tuple(
        "James John Robert Michael William David Richard Joseph Thomas Charles Christopher Daniel Matthew Anthony "
        "Steven Paul Andrew Joshua Kenneth Kevin Brian George Timothy Ronald Edward Jason Jeffrey Ryan Jacob Gary "
        "Nicholas Eric Jonathan Stephen Larry Justin Scott Brandon Benjamin Samuel Gregory Alexander Patrick Dennis "
        "Aaron Adam Nathan Henry Peter Zachary Kyle Walter Noah Jeremy Carl Arthur Luke Ethan Liam".split()
    ),
    "female": tuple(
        "Mary Patricia Jennifer Linda Elizabeth Barbara Susan Jessica Sarah Lisa Nancy Betty Sandra Margaret Ashley "
        "Kimberly Emily Donna Michelle Amanda Melissa Deborah Stephanie Rebecca Laura Sharon Cynthia Kathleen Amy "
        "Angela Anna Brenda Pamela Emma Nicole Helen Samantha Katherine Christine Debra Rachel Carolyn Janet Maria "
        "Catherine Diane Olivia Julie Joyce Ruth Kelly Lauren Megan Alice Hannah Julia".split()
    ),
}
"""Common first names; a name is replaced by one of its own list, so that pronouns still fit."""

LAST_NAMES: tuple[str, ...] = tuple(
    "Smith Johnson Williams Jones Davis Miller Wilson Moore Taylor Anderson Thompson Garcia Martinez Robinson Clark "
    "Rodriguez Lewis Walker Hernandez Lopez Gonzalez Nelson Mitchell Perez Roberts Turner Phillips Campbell Evans "
    "Edwards Collins Sanchez Morris Rogers Morgan Murphy Rivera Cooper Richardson Watson Bennett Hughes Sanders "
    "Jenkins Patterson Simmons Henderson Coleman Reynolds Hamilton Graham Sullivan Ramirez Peterson Ramos".split()
)
"""Common last names that are no other words."""

PLACES: Mapping[str, tuple[str, ...]] = {
    "city": tuple(
        "New York;Los Angeles;Chicago;Houston;Philadelphia;San Antonio;San Diego;Dallas;San Francisco;Seattle;Denver;"
        "Boston;Detroit;Las Vegas;Baltimore;Milwaukee;Atlanta;Miami;Minneapolis;Cleveland;Tampa;Pittsburgh;Cincinnati;"
        "Nashville;Memphis;New Orleans;Sacramento;Honolulu;London;Dublin;Manchester;Glasgow;Berlin;Munich;Vienna;"
        "Madrid;Barcelona;Lisbon;Rome;Milan;Prague;Warsaw;Amsterdam;Brussels;Stockholm;Oslo;Copenhagen;Helsinki;Zurich;"
        "Geneva;Athens;Toronto;Montreal;Vancouver;Tokyo;Osaka;Seoul;Beijing;Shanghai;Bangkok;Mumbai;Delhi;Nairobi;"
        "Cairo;Lagos;Melbourne;Auckland".split(";")
    ),
    "country": tuple(
        "Germany;France;Spain;Italy;Portugal;Austria;Poland;Sweden;Norway;Denmark;Finland;Ireland;Greece;Hungary;"
        "Romania;Bulgaria;Ukraine;Russia;Japan;India;Pakistan;Bangladesh;Indonesia;Malaysia;Thailand;Vietnam;Brazil;"
        "Argentina;Peru;Colombia;Mexico;Canada;Cuba;Egypt;Nigeria;Kenya;Ghana;Ethiopia;Morocco;Australia;New Zealand;"
        "South Africa".split(";")
    ),
}
"""Cities and countries; a place is replaced by one of its own list."""

POSITIVE_PHRASES = tuple(
    "I love it.;It is wonderful.;I recommend it.;It is excellent.;I am very happy with it.;It was a pleasure.;"
    "Everything about it is great.;I enjoyed every minute.;It is beautiful.;You are amazing.".split(";")
)
NEGATIVE_PHRASES = tuple(
    "I hate it.;It is awful.;Stay away from it.;It is terrible.;I am very unhappy with it.;It was a disaster.;"
    "Everything about it is bad.;I regret every minute.;It is ugly.;You are horrible.".split(";")
)
NEUTRAL_PHRASES = tuple(
    "It was a Tuesday.;I am writing this at noon.;There were six of us.;We came by bus.;That was in March.;"
    "My sister was there too.;The street was on the left.;I have two brothers.".split(";")
)

SWAPS_TO_WORDS = frozenset(
    "acres acts adds alter altitude amid ample angel angels angle angles arise arises arising arms arts awry bail "
    "bali barn bars beast beat beats best beta bets blot boast boats bolt brain bran bras brian brunt burnt busy "
    "buys calm carb cares carte carve carving cast casual cats causal clam closest closets clots coal coast coats "
    "cola colts compiled complaint compliant complied corp corps crab crate crave craving crop crops cures curse "
    "dads dairy denies denise diary does door doors dose ears east eats eras ever evil exist exits farmers "
    "farming fart fast fats feast feats field fiend filed files fined fired fires fist fits flies form forth "
    "framers framing frat fried fries from froth gaol gaps gary gasp goal gore gray lair later latitude liar "
    "lions loins lost lots maid mail mali maple marital martial minuets minutes mono moon nest nets nobel noble "
    "nuclear odor odors ogre option oust outs owes pairs palin paris past pats performed pest pets plain polo "
    "pool poses posse post potion pots preformed quiet quite raise raises raising rams rats rogue rouge sacred "
    "salt salted salts sang satin scared sign signer signing signs silver sing singer singing sings slat slated "
    "slats sliver snag snug spilt split stain stars sued sues suing sung tarp there three tide tied tier tire "
    "tired tires toady today trail trails trap trial trials tried tries tsars unclear unite united untie untied "
    "used uses using veer veil vest vets waist waits warp wary woes worth wrap wroth".split()
)
"""Words of four letters and more that a swap of two letters makes of other words, which changes what a text says."""

VERBS: Mapping[str, tuple[str, str]] = {
    base: (third, past)
    for base, third, past in (
        forms.split()
        for forms in (
            "admire admires admired;agree agrees agreed;appreciate appreciates appreciated;arrive arrives arrived;"
            "believe believes believed;buy buys bought;care cares cared;come comes came;deserve deserves deserved;"
            "despise despises despised;dislike dislikes disliked;drive drives drove;eat eats ate;enjoy enjoys enjoyed;"
            "fail fails failed;feel feels felt;find finds found;get gets got;give gives gave;go goes went;"
            "hate hates hated;have has had;help helps helped;know knows knew;like likes liked;live lives lived;"
            "look looks looked;lose loses lost;love loves loved;make makes made;miss misses missed;need needs needed;"
            "play plays played;recommend recommends recommended;regret regrets regretted;remember remembers remembered;"
            "say says said;see sees saw;seem seems seemed;smell smells smelled;sound sounds sounded;"
            "speak speaks spoke;start starts started;take takes took;taste tastes tasted;tell tells told;"
            "think thinks thought;trust trusts trusted;try tries tried;understand understands understood;"
            "use uses used;want wants wanted;win wins won;work works worked;write writes wrote"
        ).split(";")
    )
}
"""Base -> (third person, past) of verbs whose three forms differ."""
