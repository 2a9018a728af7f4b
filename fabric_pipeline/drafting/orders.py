"""The orders that no draft may give, as patterns over folded text (`drafting.disguise`), by what they are.

Data, not logic: a new spelling is one more line here and one more sentence in the test. Every gap is
bounded, so that no text takes long.
"""

from __future__ import annotations

import re


def _loose(word: str) -> str:
    """Pattern for a word whose letters may be pulled apart by up to three other characters."""
    return r"(?<!['’])\b" + r"[\W_]{0,3}".join(word)


_SOME = r"(?:\w{1,30}\W{1,3}){0,6}"
_FEW = r"(?:\w{1,30}\W{1,3}){0,3}"
_THE = r"(?:(?:the|this|that|its|every|each|all|your|a|an|it|them|of)\W{1,3}){0,2}"
_PART = r"(?:port|link|interface|node|host|nic|adapter|gpu|card|switch|lane|hca|fabric|bus|slot|device)s?"
# Things that go down or offline by software; a card that is put down on a mat is none of them.
_SERVED = (
    r"(?:port|link|interface|node|host|nic|lane|hca|server|system|machine|instance|path|it|them)s?"
)
_MACHINE = r"(?:node|host|server|chassis|machine|tray|gpu|system|box|switch|it|them)s?"
_IMAGE = r"(?:firmware|fw|vbios|bios|uefi|eeprom|nvram|microcode)"
_POWER_VERB = r"\b(?:cycl|cut|kill|remov|drop|toggl|switch|turn|pull|interrupt|recycl)\w{0,4}[\s-]{1,3}(?:off\W{1,3})?"
_WRITE_VERB = r"\b(?:re)?(?:flash|burn|upgrad|updat|downgrad|install(?!ed)|writ|program)\w{0,5}(?!\W{1,3}down)\W{1,3}"
_TOOLS = (
    r"\b(?:ipmi|mlxfw\w{0,20}|mlxreg|mst[\W_]?(?:flint|config|fw\w{0,20}|reg|link)|flint|racadm|redfish|nvflash"
    r"|nvfwupd\w{0,8}|systemctl|init[\W_]{1,2}[06o]|telinit|sudo|rmmod|modprobe|insmod|devmem2?|devlink"
    r"|ip\W{1,3}(?:-\w{1,8}\W{1,3})?l(?:i|in|ink)?\W{1,3}s(?:e|et)?|ip\W{1,3}(?:addr?|route?)\W{1,3}(?:del|flush)\w{0,4}"
    r"|ifconfig|ifdown|ifup|nmcli|ssh|bash|curl|wget|iptables|sysctl|dcgmi\W{1,3}(?:config|diag|policy)"
    r"|mst\W{1,3}(?:start|stop|re\w{0,8}|load|unload|server|cable)|ibdiagnet\W{1,3}-{0,2}(?:pc|reset\w{0,8})"
    r"|smpdump|saquery|ibccconfig|nv\W{1,3}(?:set|config|unset)|echo\W{1,3}\w{1,6}\W{0,3}>)\b|/sys/|/proc/|/dev/\w"
    r"|\becho\W{1,3}['\"]?\w{1,6}['\"]?\s{0,3}>|\brm\s{1,3}-{1,2}r|\bdd\s{1,3}if=|\bchmod\b|\bkill(?:all)?\s{1,3}-\d"
    r"|\bpython3?\s{1,3}-c\b|\bsh\s{1,3}-c\b|\bpowershell\b|\|\s{0,3}sh\b|\bcmd\s{0,3}\||\bcmd\.exe\b"
    r"|\bdrop\s{1,3}table\b|\bdelete\s{1,3}from\b|\bunion\s{1,3}select\b|\binsert\s{1,3}into\b|\bupdate\s{1,3}\w{1,40}\s{1,3}set\b"
)
_SMI = r"\bnvidia[\W_]{0,2}smi\b"
_SMI_SWITCHES = r"(?:r|re|gpu-?reset|pm|pl|ac|rac|lgc|rgc|lmc|mig|gom|sc|cc|drain\w{0,4})"
_CONTROLLER = r"(?:bmc|idrac|ilo|xclarity|out[\W_]of[\W_]band)"

ORDERS: dict[str, tuple[str, ...]] = {
    "reboot": (
        _loose("reboot"),
        _loose("restart"),
        r"\b(?:cold|warm|hard|soft)[\W_]{1,2}(?:re)?(?:boot|cycl|start)",
        r"\b(?:re)?boot\w{0,3}\W{1,3}(?:the|this|that|it|up|back)\W{1,3}" + _FEW + r"(?:node|host|server|machine|system|again)\b",
        r"\bstart\w{0,3}\W{1,3}" + _FEW + r"(?:node|host|server|machine|system|driver|service)\W{1,3}(?:again|anew|afresh)",
        r"\bkexec\b|\bsysrq\b|\bctrl[\W_]{1,3}alt[\W_]{1,3}del",
    ),
    "reset": (
        _loose("reset") + r"(?:s|ted|ting)?\b",
        r"\bre[\W_]?initiali[sz]\w{0,4}\W{1,3}" + _FEW + _PART + r"\b",
        r"\b(?:flr|sbr|secondary bus)\W{1,3}(?:on|to)\b",
    ),
    "power action": (
        r"\bpower(?:ed|ing|s)?[\W_]{0,3}off\b|" + _loose("powercycl"),
        r"(?<!optical )(?<!receive )(?<!rx )(?<!tx )\bpower(?:ed|ing)?[\W_]{0,3}down\b",
        r"\bpower\w{0,3}\W{1,3}(?:the\W{1,3}|this\W{1,3}|that\W{1,3})?(?:\w{1,20}\W{1,3}){0,2}" + _MACHINE + r"\W{1,3}(?:off|down)\b",
        r"\bcycl\w{1,3}\W{1,3}" + _THE + r"(?:power|node|host|server|chassis|outlet|pdu|psu)s?\b",
        _POWER_VERB + r"(?:(?:the|ac|dc|node|its|host)\W{1,3}){0,2}power\b(?!\W{1,3}(?:meter|level|reading))",
        r"\b(?:off|down)\W{1,3}(?:and|then)\W{1,3}(?:back\W{1,3})?on(?:\W{1,3}again)?\b",
    ),
    "switching off": (
        _loose("shutdown"),
        r"\b(?:shut|turn)\w{0,4}\W{1,3}" + _FEW + r"(?:off|down)\b",
        r"\bswitch\w{0,3}\W{1,3}(?:(?:it|them|the|this|that)\W{1,3}(?:\w{1,20}\W{1,3})?)?off\b",
        r"\b(?:shut\w{0,4}|bounc\w{1,3}|toggl\w{1,3}|flap|cycl(?:e|ing)|kick|re-?train|re-?negotiate)\W{1,3}" + _FEW + _PART + r"\b",
        r"\b(?:bring|take|put|set|force|knock|hold|drop|mark|move)\w{0,3}\W{1,3}" + _FEW + _SERVED + r"\W{1,3}(?:\w{1,20}\W{1,3}){0,2}(?:down|offline)\b",
        r"\b(?:bring|take|knock|tear)\W{1,3}down\W{1,3}" + _THE + r"(?:\w{1,20}\W{1,3})?" + _SERVED + r"\b",
        r"\b(?:set|put|force|move|switch|chang|bring|transition)\w{0,4}\W{1,3}" + _SOME
        + r"(?:to|into|in)\W{1,3}(?:the\W{1,3})?(?:state\W{1,3})?(?:polling|sleep|init|down|disabled?|standby|maintenance|initiali[sz]e|offline|sleeping)\b",
        r"\badmin(?:istrative(?:ly)?)?[\W_]{1,3}(?:down|shut)|\bhalt(?:ing)?\W{1,3}" + _THE + r"\w",
        r"\b(?:stop|kill|terminat)\w{0,4}\W{1,3}" + _FEW + r"(?:service|daemon|process|driver|fabric[\W_]?manager|subnet manager|job)s?\b",
    ),
    "disabling": (_loose("disabl"), r"\bde[\W_]?activat|\bblack[\W_]?list|\bblock[\W_]?list|\bdeny[\W_]?list"),
    "scheduler or cluster command": (
        r"\b(?:un)?cordon|\bkubectl|\bscontrol|\bevict|\bscancel|\bpbsnodes|\bqmod\b|\bbadmin\b|\btaint\w{0,3}\W{1,3}"
        + _THE + r"node",
        r"\b(?:set|mark|put|switch|chang)\w{0,4}\W{1,3}" + _SOME + r"(?:to|as|into|in)\W{1,3}(?:the\W{1,3})?(?:state\W{1,3})?drain",
        r"\bstate\W{0,3}=\W{0,3}\w|\bnodename\W{0,3}=|\bheavy sweep|\bopensm\b(?!\W{1,3}(?:log|report|show|name))",
    ),
    "register write": (
        r"\b(?:writ|pok|set|modif|chang|program)\w{0,4}\W{1,3}" + _SOME + r"registers?\b",
        r"\b(?:writ|echo|print|put|store|send|past)\w{0,3}\W{1,3}(?:(?:a|an|the|value|number)\W{1,3}){0,2}(?:\d{1,3}|0x\w{1,8}|one|zero)\W{1,3}(?:in|to|into|>{1,2})\W{0,3}"
        + _FEW + r"(?:file|sysfs|remove|rescan|attribute|entry|bus|device)\b",
        r"\b(?:remove|rescan|unbind)\W{1,3}file\b|\bre[\W_]?scan\w{0,4}\W{1,3}" + _THE + r"(?:\w{1,12}\W{1,3})?(?:bus|pci|pcie|device)",
    ),
    "firmware write": (
        _WRITE_VERB + _SOME + _IMAGE + r"\b",
        _IMAGE + r"\W{1,3}" + _SOME + r"(?:re)?(?:flash|burn|upgrad|updat|downgrad|install(?!ed))",
    ),
    "driver command": (
        r"\b(?:un|re)[\W_]?load\w{0,3}\W{1,3}" + _SOME + r"(?:driver|kernel|module of the kernel)",
        r"\bdriver\W{1,3}(?:re|un)[\W_]?(?:load|install|bind)|\b(?:un|re)[\W_]?bind\w{0,3}\W{1,3}" + _FEW + r"(?:driver|device|gpu|nic|card)",
    ),
    "command of a tool": (
        _loose("ipmitool") + "|" + _loose("mlxconfig"),
        r"\bib[-_]?port[-_]?state\b|\bset[-_]?pci\b",
        _TOOLS,
        r"\bethtool\W{1,3}(?:r\b|reset|negotiate|change|set)",
        r"\bperfquery\W{1,3}r\b|\bmlxlink\b.{0,60}?\s-{1,2}(?:a|port_state|p\w{0,20}_state|loopback|prbs\w{0,10}|fec)\b",
        r"\bmlxlink\b.{0,60}?\b(?:dn|tg|toggle|to)\b",
        _SMI + r".{0,40}?\s-{1,2}" + _SMI_SWITCHES + r"\b|" + _SMI + r"\s{1,3}(?:drain|mig)\b",
        _SMI + r"\s{1,3}-{1,2}[ecp]\b",
        r"\b(?:via|through|using|use|with|over|by|from)\W{1,3}" + _THE + _CONTROLLER + r"\b",
        r"\b" + _CONTROLLER + r"\W{1,3}(?:to|and|power|cold|warm|console|cycle|web)\b",
        r"\b(?:run|execute|type|enter|issue|paste|invoke)\w{0,3}\W{1,3}" + _FEW + r"(?:command|script|one-liner|shell|terminal)s?\b",
    ),
    "word on approval or review": (
        r"(?<!vendor.)(?<!manufacturer.)\bapprov|\bpre[\W_]?authori[sz]|\bsign(?:ed)?[\W_]{1,2}off\b",
        r"\b(?:skip|bypass|without|no|waiv\w{1,3}|omit)\W{1,3}(?:\w{1,20}\W{1,3}){0,2}review\b",
        r"\breview\w{0,3}\W{1,3}(?:\w{1,10}\W{1,3}){0,2}(?:not needed|unneeded|unnecessary|waived|complete|passed|done)\b",
        r"\b(?:already|been|was|is)\W{1,3}(?:\w{1,12}\W{1,3})?reviewed\b|\blgtm\b|\brubber[\W_]?stamp|\bgreen-?lit\b",
        r"\b(?:give|has|have|got)\w{0,3}\W{1,3}" + _THE + r"green\W{1,3}light\b",
        r"\bpublish\W{1,3}(?:this|the|it|at|now|immediately|ticket)|\b(?:ready|clear(?:ed)?|release[ds]?)\W{1,3}(?:to|for)\W{1,3}(?:be\W{1,3})?publi",
        r"\bis\W{1,3}(?:hereby\W{1,3})?(?:fully\W{1,3})?authori[sz]ed\b|\bauthori[sz]ation\W{1,3}(?:is\W{1,3})?(?:granted|given)",
    ),
    "word meant for a language model": (
        r"\b(?:ignor|disregard|forget|overrid)\w{0,3}\W{1,3}" + _SOME
        + r"(?:above|previous|prior|earlier|instruction|rule|prompt|told)|\bsystem[\W_]{1,2}(?:prompt|message|override)",
        r"\byou\W{1,3}are\W{1,3}now\b|\bas an ai\b|\blanguage model\b|\bjailbreak|\bclaude\b|\banthropic\b|\bopenai\b|\bchatgpt\b",
        r"\b(?:my|your|hidden|initial|secret)\W{1,3}(?:\w{1,12}\W{1,3})?(?:instructions|prompt)\b|\bapi[\W_]?key\b|\bsk-ant\b|\bincident_data\b",
        r"(?:^|[\n.])\W{0,4}(?:system|assistant|human|user)\W{0,2}:",
    ),
    "order in another language": (
        r"\bneu[\W_]?start|\breinici|\bredemarr|\briavvi|\bherstart|\bopnieuw\W{1,3}opstart|\bzrestart|\bстарт",
        r"\bzuru(?:e)?cksetz|\breinitialis|\brestablec|\bripristin|\bredefin|\bresett",
        r"\b(?:ab|aus)(?:zu)?schalt|\b(?:ab|aus)geschaltet|\bherunter(?:zu)?fahr",
        r"\bschalte\W{1,3}" + _SOME + r"(?:ab|aus)\b|\bfahre\W{1,3}" + _SOME + r"herunter",
        r"\beteign|\beteindre|\barretez|\bcoupe[rz]\b|\bapagu?[aeo]|\bspegn|\bspent[oa]\b|\bdeslig|\buitschakel|\bafsluiten",
        r"\bdeaktivier|\bdesactiv|\bdisattiv|\bdesativ|\bdeshabilit|\bdesabilit|\bdisabilit|\bdezaktyw",
        r"\bgenehmig|\bfreigegeben|\bapprouv|\baprob|\baprov|\bignorie?r|\bignorez|\bignorad?o?\b",
    ),
}  # fmt: skip
RULES = tuple((label, re.compile(pattern)) for label, group in ORDERS.items() for pattern in group)

# Words of the rules above that somebody may pull apart; none of them comes about by chance from short words.
_PULLED_APART_WORDS = (
    "reboot restart reset shutdown shut down power cycle disable firmware flash driver reload "
    "unload register ipmitool ipmi mlxconfig mlxlink setpci flint kubectl scontrol cordon "
    "drain evict toggle bounce switch interface port link node host lane systemctl sudo "
    "devlink nvfwupd racadm redfish opensm approved approve authorised ignore previous "
    "instructions administratively polling remove file write echo nvidia"
)
_PULLED_APART = _PULLED_APART_WORDS.split()
VOCABULARY = re.compile(
    r"(?<![^\W_])(?:"
    + "|".join(r"[\W_]{0,3}".join(word) for word in sorted(_PULLED_APART, key=len, reverse=True))
    + r")(?![^\W_])"
)
