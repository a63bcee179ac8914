-- For Lmod, as tonnage/0.1.0.lua in a directory of MODULEPATH. `root` is the environment that docs/install.md makes.
local version = "0.1.0"
local root = pathJoin("/opt/tonnage", version)

whatis("Name: Tonnage")
whatis("Version: " .. version)
whatis("Description: How much I/O a storage system can carry, and how to keep jobs at that line")
help([[
tonnage probe DIR finds the load line of DIR; tonnage --help lists the commands, man tonnage has its pages.
]])

-- Its own program alone, and not the Python beside it, which would hide the user's.
prepend_path("PATH", pathJoin(root, "module"))
prepend_path("MANPATH", pathJoin(root, "share/man"))
-- An empty part stands for the places where man looks by itself.
append_path("MANPATH", "")
